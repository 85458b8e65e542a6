#include "jit/cuda/columns.h"

#include <algorithm>
#include <bit>

#include "tensor/cuda/work.h"
#include "tensor/fixed_order.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

// A nest of the same axes that has some of the stores and reductions, and of the body what these need.
class Part {
 public:
  explicit Part(const LoopNest& whole)
      : whole_(whole), registers_(whole.body.size(), -1), loads_(whole.loads.size(), -1) {
    made_.name = whole.name;
    made_.axes = whole.axes;
    made_.row_rank = whole.row_rank;
    made_.numbers = whole.numbers;
  }

  void store(const Store& each) {
    made_.stores.push_back(each);
    made_.stores.back().value = moved(each.value);
  }
  void reduction(const Reduction& each) { made_.reductions.push_back(moved(each)); }
  void column(const Reduction& each) { made_.columns.push_back(moved(each)); }
  bool is_empty() const { return made_.stores.empty() && !made_.combines(); }
  LoopNest take() { return std::move(made_); }

 private:
  Reduction moved(Reduction each) {
    each.value = moved(each.value);
    return each;
  }
  Register moved(Register from) {
    Register& known = registers_[static_cast<std::size_t>(from)];
    if (known >= 0) return known;
    Instruction step = whole_.body[static_cast<std::size_t>(from)];
    for (Register& each : step.operands) each = moved(each);
    if (step.kind == Instruction::Kind::Read) step.index = load(step.index);
    made_.body.push_back(std::move(step));
    return known = static_cast<Register>(made_.body.size()) - 1;
  }
  int load(int from) {
    int& known = loads_[static_cast<std::size_t>(from)];
    if (known >= 0) return known;
    made_.loads.push_back(whole_.loads[static_cast<std::size_t>(from)]);
    return known = static_cast<int>(made_.loads.size()) - 1;
  }

  const LoopNest& whole_;
  LoopNest made_;
  std::vector<Register> registers_;  // by register of the whole
  std::vector<int> loads_;
};

bool replaces_what_is_read(const LoopNest& later, const LoopNest& columns) {
  return std::ranges::any_of(later.stores, [&](const Store& store) {
    return store.buffer >= 0 &&
           std::ranges::any_of(columns.loads, [&](const Load& load) { return load.buffer == store.buffer; });
  });
}

// Elements are stored on the way down where nothing but columns needs the pass.
void split(const LoopNest& pass, std::vector<LoopNest>& made) {
  Part along(pass), down(pass);
  for (const Store& each : pass.stores) (each.per_row || !pass.reductions.empty() ? along : down).store(each);
  for (const Reduction& each : pass.reductions) along.reduction(each);
  for (const Reduction& each : pass.columns) down.column(each);
  if (!along.is_empty()) made.push_back(along.take());
  made.push_back(down.take());
}

}  // namespace

std::vector<LoopNest> split_by_way(std::span<const LoopNest> passes) {
  std::vector<LoopNest> made;
  bool may_wait = true;
  for (const LoopNest& each : passes) {
    may_wait = may_wait && std::ranges::none_of(made, [&](const LoopNest& before) {
                 return goes_down(before) && replaces_what_is_read(each, before);
               });
    goes_down(each) ? split(each, made) : made.push_back(each);
  }
  if (may_wait)
    std::stable_partition(made.begin(), made.end(), [](const LoopNest& each) { return !goes_down(each); });
  return made;
}

bool reads_slots(const LoopNest& nest) {
  return std::ranges::any_of(nest.body,
                             [](const Instruction& each) { return each.kind == Instruction::Kind::Reduced; });
}

cuda::ColumnJob column_job(std::int64_t sequences, std::int64_t sequence, std::int64_t length,
                           std::int64_t multiprocessors) {
  constexpr std::int64_t kThreads = cuda::kThreadsOfBlock;
  const auto lanes = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(sequence, 1, kReductionLanes))));
  const std::int64_t blocks = std::max<std::int64_t>(1, reduction_blocks(sequence));
  std::int64_t down = std::min<std::int64_t>(lanes, kReductionLanes / cuda::kMostLanesOfThread),
               across = kThreads / down;
  const auto teams = [&] { return sequences * blocks * ceil_divide(length, across); };
  // Rows that leave threads without a column, or too little work for all.
  while (across > 1 && (across / 2 >= length || (teams() < multiprocessors && down < lanes))) {
    across /= 2;
    down = std::min(lanes, 2 * down);
  }
  const std::int64_t tiles = ceil_divide(length, across);
  return {.sequence = sequence,
          .blocks = blocks,
          .tiles = tiles,
          .units = sequences * blocks * tiles,
          .across = across,
          .down = down,
          .each = lanes / down};
}

}  // namespace kiln::jit
