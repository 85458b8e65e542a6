#include "jit/cpu/element_run.h"

#include <bit>
#include <cstring>
#include <memory>

#include "jit/cpu/hoisted_loads.h"
#include "jit/cpu/streaming_stores.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/walk.h"

namespace kiln::jit {
namespace {

using Access = KernelPlan::LoadPlan::Access;

constexpr std::int64_t kWidest = 8;  // bytes of an element
constexpr std::int64_t kVectorBytes = kVector * kWidest;

// As many vectors, without values at first; few of them need no memory, nor do those that nobody asks for.
class Vectors {
 public:
  explicit Vectors(std::size_t count) : count_(count) {}
  std::byte* operator[](std::size_t k) {
    if (count_ <= kFew) return few_[k].bytes;
    if (many_ == nullptr) many_ = std::make_unique_for_overwrite<Vector[]>(count_);
    return many_[k].bytes;
  }

 private:
  struct alignas(64) Vector {
    std::byte bytes[kVectorBytes];
  };
  static constexpr std::size_t kFew = 6;
  std::size_t count_;
  Vector few_[kFew];
  std::unique_ptr<Vector[]> many_;
};

}  // namespace

ElementRun::ElementRun(const ScheduledNest& scheduled, const KernelPlan& plan, KernelFn function,
                       const cpu::BlockKernel* called, Inputs inputs, std::span<const Generator> draws,
                       Inputs outputs, Writes writes)
    : nest_(*scheduled.nest),
      schedule_(*scheduled.schedule),
      plan_(plan),
      function_(function),
      called_(called),
      draws_(draws),
      writes_(writes) {
  const LoopNest& nest = nest_;
  for (std::size_t k = 0; k < nest.loads.size(); ++k) {
    const Access access = plan.loads[k].access;
    if (access == Access::Drawn || access == Access::Gathered) {
      loads_.push_back({nullptr, static_cast<std::int64_t>(size_of(nest.loads[k].dtype))});
      if (access == Access::Drawn) continue;
      gathers_.resize(nest.loads.size());
      gathers_[k] = open_gather(nest.loads[k], plan.loads[k].gather, inputs);
      continue;
    }
    const Tensor& input = inputs[static_cast<std::size_t>(nest.loads[k].input)];
    input.check_readable();
    const auto& load = plan.loads[k];
    const std::byte* data = input.storage()->data();
    if (load.copied || !load.laid_out.empty()) {
      Tensor source = laid_out(input, load.laid_out);
      if (load.copied) source = cpu::contiguous_copy(Tensor::alias(source, load.layout), source.dtype());
      data = source.storage()->data();
      copies_.push_back(std::move(source));
    }
    const auto item = static_cast<std::int64_t>(size_of(nest.loads[k].dtype));
    loads_.push_back({data + load.offset * item, item});
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto item = static_cast<std::int64_t>(size_of(outputs[k].dtype()));
    outputs_.push_back({outputs[k].raw_writable() + plan.stores[k].offset * item, item});
  }
  if (writes == Writes::Plainly && gathers_.empty() && draws.empty()) find_moves();
}

ElementRun::ElementRun(const ScheduledNest& scheduled, const KernelPlan& plan, KernelFn function,
                       const cpu::BlockKernel* called)
    : nest_(*scheduled.nest),
      schedule_(*scheduled.schedule),
      plan_(plan),
      function_(function),
      called_(called),
      writes_(Writes::Plainly) {
  for (const Load& each : nest_.loads)
    loads_.push_back({nullptr, static_cast<std::int64_t>(size_of(each.dtype))});
  for (const Store& each : nest_.stores)
    outputs_.push_back({nullptr, static_cast<std::int64_t>(size_of(each.dtype))});
  find_moves();
}

// Where all loads and stores move on with the elements, or by one number of bytes from row to row, nothing
// else has to be known of them.
void ElementRun::find_moves() {
  bool is_in_place = true;
  row_ = plan_.axes.back();
  const bool is_plane = plan_.by_steps && plan_.by_rows && plan_.axes.size() == 2 && row_ >= kVector;
  for (std::size_t k = 0; k < loads_.size(); ++k) {
    const Load& load = nest_.loads[k];
    const KernelPlan::LoadPlan& plan = plan_.loads[k];
    const bool is_one =
        plan.access == Access::Constant || (plan.access == Access::Strided && plan.strides.back() == 0);
    is_in_place = is_in_place && (!is_one || load.invariant || is_hoisted(k));
    moves_.push_back(is_one && !load.invariant ? 0 : ~std::int64_t{0});
    const bool goes_on = plan.access == Access::Direct && !load.invariant;
    steps_.push_back(loads_[k].item * (goes_on                                      ? row_
                                       : is_plane && plan.access == Access::Strided ? plan.strides[0]
                                                                                    : 0));
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const KernelPlan::StorePlan& plan = plan_.stores[k];
    steps_.push_back(outputs_[k].item * (plan.is_direct || !is_plane ? row_ : plan.strides[0]));
  }
  hoists_loads_ = can_hoist_loads({&nest_, &schedule_}, moves_);
  is_one_call_ = is_in_place && plan_.all_direct;
  is_rows_ = is_in_place && is_plane;
}

KernelCall ElementRun::call_at(const void* const* places, std::int64_t count) const {
  KernelCall call{};
  call.places = places;
  call.moves = moves_.data();
  call.numbers = plan_.numbers.data();
  call.called = called_;
  call.count = count;
  call.hoists_loads = hoists_loads_ ? 1 : 0;
  return call;
}

std::uint64_t ElementRun::one_call(std::int64_t begin, std::int64_t end) const {
  SmallVector<const void*, 16> places;
  for (std::size_t k = 0; k < loads_.size(); ++k)
    places.push_back(loads_[k].data + (steps_[k] != 0 ? begin * loads_[k].item : 0));
  for (const Target& each : outputs_) places.push_back(each.data + begin * each.item);
  KernelCall call = call_at(places.data(), end - begin);
  return function_(&call);
}

std::uint64_t ElementRun::rows(std::int64_t begin, std::int64_t end) const {
  SmallVector<const std::byte*, 16> places;
  for (const Place& each : loads_) places.push_back(each.data);
  for (const Target& each : outputs_) places.push_back(each.data);
  for (std::size_t k = 0; k < places.size(); ++k) places[k] += begin * steps_[k];
  KernelCall call = call_at(reinterpret_cast<const void* const*>(places.data()), row_);
  std::uint64_t failed = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    failed |= function_(&call);
    for (std::size_t k = 0; k < places.size(); ++k) places[k] += steps_[k];
  }
  return failed;
}

// What one thread does: a call for each block, with what cannot be read in place gathered before.
class ElementRun::Piece {
 public:
  explicit Piece(const ElementRun& run)
      : run_(run),
        plan_(run.plan_),
        by_steps_(plan_.by_steps && plan_.by_rows && !leaves_rests()),
        by_rows_(by_steps_ || (plan_.by_rows && plan_.axes.back() >= kLongRow)),
        places_(run.loads_.size() + run.outputs_.size(), nullptr),
        moves_(run.loads_.size(), ~std::int64_t{0}),
        spread_(run.loads_.size()) {
    for (std::size_t k = 0; k < run.loads_.size(); ++k) {
      if (plan_.loads[k].access == Access::Constant && !run.nest_.loads[k].invariant)
        constant(k, run.loads_[k].data);
    }
  }

  std::uint64_t run(std::int64_t begin, std::int64_t end) {
    for (std::size_t k = 0; k < run_.loads_.size(); ++k) {
      if (plan_.loads[k].access != Access::Strided) continue;
      walks_.emplace_back(k, cpu::Walker(plan_.axes, plan_.loads[k].strides, begin));
    }
    for (std::size_t k = 0; k < run_.outputs_.size(); ++k) {
      if (plan_.stores[k].is_direct) continue;
      store_walks_.push_back({k, cpu::Walker(plan_.axes, plan_.stores[k].strides, begin), nullptr});
    }
    std::uint64_t failed = 0;
    for (std::int64_t at = begin; at < end;) {
      if (const std::int64_t rows = by_steps_ ? rows_at(at, end) : 0; rows > 1) {
        failed |= run_rows(at, rows);
        at += rows * plan_.axes.back();
        continue;
      }
      const std::int64_t count = length_at(at, end);
      place(at, count);
      const bool are_whole = at % kVector == 0 && count % kVector == 0;
      failed |=
          count < kVector ? short_call(count) : call(count, are_whole && run_.writes_ == Writes::Streaming);
      for (StoreWalk& each : store_walks_) scatter(each, count);
      at += count;
    }
    return failed;
  }

 private:
  // Whole rows from here on that lie in one plane; none within a row.
  std::int64_t rows_at(std::int64_t at, std::int64_t end) const {
    const std::int64_t length = plan_.axes.back();
    if (at % length != 0) return 0;
    const std::int64_t plane = plan_.axes[plan_.axes.size() - 2];
    return std::min((end - at) / length, plane - at / length % plane);
  }
  std::uint64_t run_rows(std::int64_t at, std::int64_t rows) {
    const std::int64_t length = plan_.axes.back();
    place(at, length);
    SmallVector<std::int64_t, 12> steps(places_.size(), 0);
    const std::size_t plane = plan_.axes.size() - 2;
    for (std::size_t k = 0; k < run_.loads_.size(); ++k) {
      const auto& load = plan_.loads[k];
      if (load.access == Access::Direct && !run_.nest_.loads[k].invariant)
        steps[k] = length * run_.loads_[k].item;
      if (load.access == Access::Strided) steps[k] = load.strides[plane] * run_.loads_[k].item;
    }
    for (std::size_t k = 0; k < run_.outputs_.size(); ++k) {
      const auto& each = plan_.stores[k];
      steps[run_.loads_.size() + k] = (each.is_direct ? length : each.strides[plane]) * run_.outputs_[k].item;
    }
    KernelCall with = call_of(length, run_.writes_ == Writes::Streaming && length % kVector == 0);
    std::uint64_t failed = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      failed |= run_.function_(&with);
      for (std::size_t k = 0; k < places_.size(); ++k)
        places_[k] = static_cast<const std::byte*>(places_[k]) + steps[k];
    }
    for (auto& each : walks_) each.second.move_to(at + rows * length);
    for (StoreWalk& each : store_walks_) each.walk.move_to(at + rows * length);
    return failed;
  }

  // As much as one call can take; no remainder shorter than a vector.
  std::int64_t length_at(std::int64_t at, std::int64_t end) const {
    std::int64_t rest = end - at;
    if (!plan_.all_direct) rest = length_of_block(at, rest);
    const std::int64_t in_vectors = rest > kVector ? rest / kVector * kVector : rest;
    switch (run_.writes_) {
      case Writes::Plainly:
        break;
      case Writes::Once:  // the last vector of a call computes elements of the one before again
        return in_vectors;
      case Writes::Streaming:
        if (!begins_anywhere())
          return at % kVector == 0 ? in_vectors : std::min(rest, kVector - at % kVector);
    }
    return rest;
  }
  // Must the last elements of a row be computed on their own, as no element is computed twice?
  bool leaves_rests() const { return run_.writes_ == Writes::Once && plan_.axes.back() % kVector != 0; }
  // Do calls begin where rows or what is picked do, not where vectors could?
  bool begins_anywhere() const {
    return !run_.gathers_.empty() || (by_rows_ && plan_.axes.back() % kVector != 0);
  }
  std::int64_t length_of_block(std::int64_t at, std::int64_t rest) const {
    const std::int64_t row = plan_.axes.back();
    if (by_rows_) rest = std::min(rest, row - at % row);
    for (const auto& each : run_.gathers_) {  // what lies together need not be copied
      const std::int64_t together = each == nullptr ? 0 : each->together(at);
      if (together >= kLongRow) rest = std::min(rest, together);
    }
    if (rest <= kBlock) return rest;
    return rest - kBlock < kVector ? rest - kVector : kBlock;
  }

  void place(std::int64_t at, std::int64_t count) {
    for (std::size_t k = 0; k < run_.loads_.size(); ++k) {
      const Place& load = run_.loads_[k];
      if (run_.nest_.loads[k].invariant) {
        places_[k] = load.data;
      } else if (plan_.loads[k].access == Access::Direct) {
        places_[k] = load.data + at * load.item;
      }
    }
    for (std::size_t w = 0; w < walks_.size(); ++w) walk(w, count);
    for (std::size_t k = 0; k < run_.loads_.size(); ++k) {
      if (plan_.loads[k].access == Access::Drawn) draw(k, at, count);
      if (plan_.loads[k].access == Access::Gathered)
        places_[k] = run_.gathers_[k]->read(at, count, memory(k));
    }
    for (std::size_t k = 0; k < run_.outputs_.size(); ++k) {
      places_[run_.loads_.size() + k] = run_.outputs_[k].data + at * run_.outputs_[k].item;
    }
    for (StoreWalk& each : store_walks_) places_[run_.loads_.size() + each.store] = place_of(each);
  }

  void draw(std::size_t k, std::int64_t at, std::int64_t count) {
    std::byte* const to = memory(k);
    cpu::fill_part(run_.nest_.loads[k].dtype, plan_.loads[k].distribution, run_.draws_[k], at, count, to);
    places_[k] = to;
  }
  // For a block of what a load makes.
  std::byte* memory(std::size_t k) {
    if (made_.empty()) made_.resize(run_.loads_.size());
    if (made_[k] == nullptr) made_[k] = std::make_unique<std::byte[]>(kBlock * kWidest);
    return made_[k].get();
  }

  // Where a strided store goes: its row, or a block that is scattered afterwards.
  struct StoreWalk {
    std::size_t store;
    cpu::Walker walk;
    std::unique_ptr<std::byte[]> block;
  };
  bool is_scattered(const StoreWalk& each) const {
    return !by_rows_ || plan_.stores[each.store].strides.back() != 1;
  }
  std::byte* place_of(StoreWalk& each) {
    if (!is_scattered(each)) {
      const Target& output = run_.outputs_[each.store];
      return output.data + each.walk.offset() * output.item;
    }
    if (each.block == nullptr) each.block = std::make_unique<std::byte[]>(kBlock * kWidest);
    return each.block.get();
  }
  void scatter(StoreWalk& each, std::int64_t count) {
    const Target& output = run_.outputs_[each.store];
    const std::int64_t stride = plan_.stores[each.store].strides.back() * output.item;
    const std::byte* from = each.block.get();
    each.walk.advance(count, [&](std::int64_t offset, std::int64_t length) {
      if (from == nullptr) return;
      std::byte* to = output.data + offset * output.item;
      for (std::int64_t i = 0; i < length; ++i, from += output.item, to += stride)
        std::memcpy(to, from, static_cast<std::size_t>(output.item));
    });
  }

  void walk(std::size_t w, std::int64_t count) {
    auto& [k, walk] = walks_[w];
    const Place& load = run_.loads_[k];
    const std::int64_t stride = plan_.loads[k].strides.back();
    if (by_rows_ && stride <= 1) {
      const std::byte* const row = load.data + walk.offset() * load.item;
      walk.advance(count, [](std::int64_t, std::int64_t) {});
      if (stride == 0) return constant(k, row);
      moves_[k] = ~std::int64_t{0};
      places_[k] = row;
      return;
    }
    if (gathered_.empty()) gathered_.resize(walks_.size());
    if (gathered_[w] == nullptr) gathered_[w] = std::make_unique<std::byte[]>(kBlock * kWidest);
    std::byte* to = gathered_[w].get();
    places_[k] = to;
    const cpu::LoadFn gather =
        cpu::convert_table().load_raw[std::countr_zero(static_cast<unsigned>(load.item))];
    walk.advance(count, [&](std::int64_t offset, std::int64_t length) {
      gather(load.data + offset * load.item, stride, to, length);
      to += length * load.item;
    });
  }

  // One element on all places of a vector, unless the code does that.
  void constant(std::size_t k, const std::byte* element) {
    moves_[k] = 0;
    places_[k] = run_.is_hoisted(k) ? element : spread_[k];
    if (!run_.is_hoisted(k)) spread(spread_[k], element, run_.loads_[k].item, 0);
  }
  KernelCall call_of(std::int64_t count, bool streaming) const {
    KernelCall call{};
    call.places = places_.data();
    call.moves = moves_.data();
    call.numbers = plan_.numbers.data();
    call.called = run_.called_;
    call.count = count;
    call.streaming = streaming ? 1 : 0;
    call.hoists_loads = can_hoist_loads({&run_.nest_, &run_.schedule_}, moves_) ? 1 : 0;
    return call;
  }
  std::uint64_t call(std::int64_t count, bool streaming = false) const {
    KernelCall with = call_of(count, streaming);
    return run_.function_(&with);
  }

  // Fewer elements than a vector has: the last one stands on the other places, where nothing can go wrong
  // that does not go wrong anyway.
  std::uint64_t short_call(std::int64_t count) {
    Vectors vectors(places_.size());
    const Places before = places_;
    for (std::size_t k = 0; k < run_.loads_.size(); ++k) {
      if (run_.nest_.loads[k].invariant || moves_[k] == 0) continue;
      const std::int64_t item = run_.loads_[k].item;
      std::byte* const vector = vectors[k];
      std::memcpy(vector, places_[k], static_cast<std::size_t>(count * item));
      spread(vector, vector + (count - 1) * item, item, count);
      places_[k] = vector;
    }
    for (std::size_t k = run_.loads_.size(); k < places_.size(); ++k) places_[k] = vectors[k];
    const std::uint64_t failed = call(kVector);
    for (std::size_t k = run_.loads_.size(); k < places_.size(); ++k) {
      const std::int64_t item = run_.outputs_[k - run_.loads_.size()].item;
      std::memcpy(const_cast<void*>(before[k]), vectors[k], static_cast<std::size_t>(count * item));
    }
    places_ = before;
    return failed;
  }

  const ElementRun& run_;
  const KernelPlan& plan_;
  const bool by_steps_;
  const bool by_rows_;
  using Places = SmallVector<const void*, 12>;
  Places places_;
  SmallVector<std::int64_t, 12> moves_;
  Vectors spread_;                                             // by load
  SmallVector<std::pair<std::size_t, cpu::Walker>, 4> walks_;  // of strided loads
  std::vector<std::unique_ptr<std::byte[]>> gathered_;         // by walk
  SmallVector<StoreWalk, 2> store_walks_;
  std::vector<std::unique_ptr<std::byte[]>> made_;  // by load
};

std::uint64_t ElementRun::piece(std::int64_t begin, std::int64_t end) const {
  if (is_one_call_ && end - begin >= kVector) return one_call(begin, end);
  if (is_rows_ && begin % row_ == 0 && end % row_ == 0) return rows(begin / row_, end / row_);
  const std::uint64_t failed = Piece(*this).run(begin, end);
  if (writes_ == Writes::Streaming) fence_streaming_stores();
  return failed;
}

}  // namespace kiln::jit
