#include "jit/cpu/row_worker.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "jit/cpu/hoisted_loads.h"
#include "jit/cpu/streaming_stores.h"
#include "tensor/cpu/elementwise/copy.h"

namespace kiln::jit {
namespace {

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

}  // namespace

RowRun::RowRun(const Lowered& all, const Schedule& how, const RowPlan& made,
               const std::vector<KernelFn>& code, const std::vector<std::vector<cpu::BlockKernel>>& kernels,
               Inputs inputs, const Tensors& results)
    : passes(all.row_passes()),
      lowered(all),
      schedule(how),
      plan(made),
      functions(code),
      called(kernels),
      failed(passes.size()) {
  for (std::size_t p = 0; p < passes.size(); ++p) {
    std::vector<Place>& places = loads.emplace_back();
    for (std::size_t k = 0; k < passes[p].loads.size(); ++k)
      places.push_back(place_of(passes[p].loads[k], plan.passes[p].loads[k], inputs));
  }
  for (const Tensor& each : results) {
    outputs.push_back(each ? Place{each.raw_writable(), bytes_of(each.dtype())} : Place{});
  }
  if (!schedule.interleaves_rows) slots.resize(static_cast<std::size_t>(plan.rows) * lowered.slots.size());
  open_gathers(inputs);
  take_draws();
}

// One reader for each node, which all passes that read the node share.
void RowRun::open_gathers(Inputs inputs) {
  std::map<int, int> numbers;  // by node
  for (std::size_t p = 0; p < passes.size(); ++p) {
    std::vector<int>& of_loads = gather_of.emplace_back(passes[p].loads.size(), -1);
    for (const Instruction& each : passes[p].body) {
      const auto k = static_cast<std::size_t>(each.index);
      if (each.kind != Instruction::Kind::Read || passes[p].loads[k].gather == nullptr) continue;
      const auto [found, fresh] = numbers.emplace(each.node, static_cast<int>(gathers.size()));
      of_loads[k] = found->second;
      if (fresh) gathers.push_back(open_gather(passes[p].loads[k], plan.passes[p].loads[k].gather, inputs));
    }
  }
}

// Draws in the order of the ops, which need not be that of the passes.
void RowRun::take_draws() {
  std::map<int, std::pair<std::size_t, std::size_t>> in_order;  // pass and load, by node
  draws.resize(passes.size());
  for (std::size_t p = 0; p < passes.size(); ++p) {
    for (const Instruction& each : passes[p].body) {
      const auto load = static_cast<std::size_t>(each.index);
      if (each.kind != Instruction::Kind::Read || passes[p].loads[load].drawn == nullptr) continue;
      in_order.emplace(each.node, std::pair(p, load));
      draws[p].resize(passes[p].loads.size());
    }
  }
  for (const auto& [node, place] : in_order) draws[place.first][place.second] = next_draw();
}

RowRun::Place RowRun::place_of(const Load& load, const RowLoadPlan& how, Inputs inputs) {
  Place place{nullptr, bytes_of(load.dtype)};
  if (load.input < 0) return place;
  const Tensor& input = inputs[static_cast<std::size_t>(load.input)];
  input.check_readable();
  Tensor source = laid_out(input, how.laid_out);
  if (how.copied) source = cpu::contiguous_copy(Tensor::alias(source, how.layout), source.dtype());
  place.data = const_cast<std::byte*>(source.storage()->data());
  if (!source.is_same(input)) copies.push_back(std::move(source));
  return place;
}

KeptRow::KeptRow(const Lowered& lowered, std::int64_t length) {
  for (const DType dtype : lowered.buffers) {
    places_.push_back(memory_.take<std::byte>(length * static_cast<std::int64_t>(size_of(dtype))));
  }
}

KeptRows::KeptRows(const Lowered& lowered, std::int64_t elements) {
  for (const DType dtype : lowered.buffers) {
    buffers_.push_back(Buffer::allocate(static_cast<std::size_t>(elements) * size_of(dtype), Device{}));
    places_.push_back(buffers_.back()->data());
  }
}

Worker::Worker(RowRun& run, std::span<std::byte* const> kept, bool kept_rows)
    : run_(run),
      kept_(kept),
      kept_rows_(kept_rows),
      passes_(run.passes.size()),
      gathers_(run.gathers.size()),
      blocks_(run.lowered.slots.size()) {
  for (std::size_t p = 0; p < passes_.size(); ++p) prepare(passes_[p], p);
}

Worker::~Worker() {
  if (run_.streaming) fence_streaming_stores();
}

void Worker::prepare(Pass& pass, std::size_t p) {
  const LoopNest& nest = run_.passes[p];
  pass.nest = &nest;
  pass.schedule = &run_.schedule.nests[p];
  pass.plan = &run_.plan.passes[p];
  pass.loads = &run_.loads[p];
  pass.draws = &run_.draws[p];
  pass.gather_of = run_.gather_of[p];
  pass.drawn.resize(pass.draws->size());
  pass.function = run_.functions[p];
  pass.places.resize(nest.loads.size() + nest.stores.size() + nest.columns.size());
  pass.moves.assign(nest.loads.size(), ~std::int64_t{0});
  pass.spread.resize(nest.loads.size());
  for (std::size_t k = 0; k < nest.loads.size(); ++k) {
    if (is_same_for_row(pass, k)) pass.moves[k] = 0;
  }
  pass.lanes.resize(nest.reductions.size());
  pass.start.resize(nest.reductions.size());
  for (const Reduction& each : nest.reductions) pass.ops.push_back(&lane_ops(each));
  for (std::size_t k = 0; k < pass.ops.size(); ++k) pass.ops[k]->start(pass.start[k]);
  pass.call.places = pass.places.data();
  pass.call.moves = pass.moves.data();
  pass.call.hoists_loads = can_hoist_loads(run_.scheduled(p), pass.moves) ? 1 : 0;
  pass.call.numbers = pass.plan->numbers.data();
  pass.call.called = run_.called[p].data();
  pass.call.lanes = pass.lanes.data();
  find_straight(pass);
  vectors_.resize(std::max(vectors_.size(), pass.places.size()));
}

// Does the loop read one element of memory for all of the row?
bool Worker::is_same_for_row(const Pass& pass, std::size_t k) {
  const Load& load = pass.nest->loads[k];
  return load.input >= 0 && !load.invariant && pass.plan->loads[k].constant;
}

void Worker::take_columns(std::span<std::byte* const> accumulators, std::int64_t begin) {
  columns_ = accumulators;
  columns_begin_ = begin;
}

void Worker::row(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t next) {
  ahead_ = end - begin > 4 * kFetched ? kFetched : next * run_.plan.length;
  for (std::size_t p = 0; p < passes_.size(); ++p) {
    const std::vector<Reduction>& reductions = passes_[p].nest->reductions;
    if (reductions.empty()) {
      block(p, row, begin, end);
      continue;
    }
    if (end - begin <= kReductionBlock) {
      block(p, row, begin, end);
      for (std::size_t k = 0; k < reductions.size(); ++k) run_.slot(row, reductions[k].slot) = folded(p, k);
      continue;
    }
    for (std::int64_t at = begin; at < end; at += kReductionBlock) {
      block(p, row, at, std::min(at + kReductionBlock, end));
      for (std::size_t k = 0; k < reductions.size(); ++k) blocks_[k].push_back(folded(p, k));
    }
    for (std::size_t k = 0; k < reductions.size(); ++k) {
      run_.slot(row, reductions[k].slot) = passes_[p].ops[k]->tree(blocks_[k]);
      blocks_[k].clear();
    }
  }
}

void Worker::block(std::size_t p, std::int64_t row, std::int64_t begin, std::int64_t end) {
  Pass& pass = passes_[p];
  place(pass, row, begin, end);
  pass.call.start = pass.start.data();
  if (!run_.lowered.slots.empty()) pass.call.reduced = run_.slot(row, 0).data();
  pass.call.odd = 0;
  pass.call.ahead = ahead_;
  std::int64_t count = end - begin;
  std::uint64_t failed = 0;
  const std::int64_t vectors = count / kVector * kVector;
  const bool streaming = run_.streaming && (row * run_.plan.length + begin) % kVector == 0;
  const bool may_overlap = !pass.nest->combines() && !streaming && vectors > 0;
  const std::int64_t whole = may_overlap ? count : vectors;
  pass.call.streaming = streaming ? 1 : 0;
  if (whole > 0) {
    pass.call.valid = kVector;
    pass.call.count = whole;
    failed |= pass.function(&pass.call);
    count -= whole;
    if (count > 0) {
      each_moving(pass, [&pass, whole](std::size_t k, std::int64_t item, bool) {
        pass.places[k] = static_cast<const std::byte*>(pass.places[k]) + whole * item;
      });
    }
    pass.call.odd = whole / kVector % 2;
    pass.call.start = pass.lanes.data();
  }
  if (count > 0) failed |= short_call(pass, count);
  if (begin == end) short_call(pass, 0);  // stores the results of a row without elements
  if (failed != 0) run_.failed[p].fetch_or(failed, std::memory_order_relaxed);
}

Slot Worker::folded(std::size_t p, std::size_t reduction) {
  Pass& pass = passes_[p];
  return pass.ops[reduction]->fold(pass.lanes[reduction]);
}

void Worker::find_straight(Pass& pass) const {
  const LoopNest& nest = *pass.nest;
  const std::int64_t length = run_.plan.length;
  const auto kept = [&](int buffer, std::size_t place, std::int64_t item) {
    std::byte* const first = kept_[static_cast<std::size_t>(buffer)];
    pass.straight.push_back({place, first, kept_rows_ ? length * item : 0, item});
  };
  for (std::size_t k = 0; k < nest.loads.size(); ++k) {
    const Load& load = nest.loads[k];
    const RowRun::Place& source = (*pass.loads)[k];
    const RowLoadPlan& plan = pass.plan->loads[k];
    if (load.buffer >= 0) {
      kept(load.buffer, k, source.item);
    } else if (load.input < 0 || is_same_for_row(pass, k) || plan.outer.size() > 1) {
      pass.other.push_back(k);
    } else {
      const std::int64_t row = plan.outer.empty() ? 0 : plan.strides[0] * source.item;
      pass.straight.push_back(
          {k, source.data + plan.offset * source.item, row, load.invariant ? 0 : source.item});
    }
  }
  for (std::size_t k = 0; k < nest.stores.size(); ++k) {
    const Store& store = nest.stores[k];
    const std::int64_t item = bytes_of(store.dtype);
    if (store.buffer >= 0) {
      kept(store.buffer, nest.loads.size() + k, item);
    } else if (store.per_row) {
      pass.per_row.push_back(k);
    } else {
      std::byte* const first = run_.outputs[static_cast<std::size_t>(store.output)].data;
      pass.straight.push_back({nest.loads.size() + k, first, length * item, item});
    }
  }
}

void Worker::place(Pass& pass, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const LoopNest& nest = *pass.nest;
  for (const Straight& each : pass.straight)
    pass.places[each.place] = each.first + row * each.row + begin * each.element;
  for (const std::size_t k : pass.other) place_load(pass, k, row, begin, end);
  for (const std::size_t k : pass.per_row) {  // the row's first block stores it
    const Store& store = nest.stores[k];
    std::byte* const first = run_.outputs[static_cast<std::size_t>(store.output)].data;
    pass.places[nest.loads.size() + k] = begin > 0 ? unused_.data() : first + row * bytes_of(store.dtype);
  }
  std::size_t next = nest.loads.size() + nest.stores.size();
  for (const Reduction& each : nest.columns) {
    pass.places[next++] =
        columns_[static_cast<std::size_t>(each.slot)] + (begin - columns_begin_) * bytes_of(each.accumulator);
  }
}

void Worker::place_load(Pass& pass, std::size_t k, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const Load& load = pass.nest->loads[k];
  const std::int64_t at = row * run_.plan.length + begin;
  if (load.drawn != nullptr) {
    pass.places[k] = draw(pass, k, at, end - begin);
    return;
  }
  if (load.gather != nullptr) {
    pass.places[k] = gather(static_cast<std::size_t>(pass.gather_of[k]), load.dtype, at, end - begin);
    return;
  }
  const RowRun::Place& source = (*pass.loads)[k];
  const std::byte* const first = source.data + pass.plan->loads[k].at(row) * source.item;
  if (!is_same_for_row(pass, k)) {
    pass.places[k] = first + (load.invariant ? 0 : begin * source.item);
  } else if (pass.schedule->loads[k].hoisted) {
    pass.places[k] = first;
  } else {
    spread(pass.spread[k].data(), first, source.item, 0);
    pass.places[k] = pass.spread[k].data();
  }
}

const std::byte* Worker::draw(Pass& pass, std::size_t k, std::int64_t first, std::int64_t count) {
  std::vector<std::byte>& numbers = pass.drawn[k];
  const DType dtype = pass.nest->loads[k].dtype;
  numbers.resize(std::max(numbers.size(), static_cast<std::size_t>(count * bytes_of(dtype))));
  cpu::fill_part(dtype, pass.plan->loads[k].distribution, (*pass.draws)[k], first, count, numbers.data());
  return numbers.data();
}

const std::byte* Worker::gather(std::size_t number, DType dtype, std::int64_t first, std::int64_t count) {
  LastGather& last = gathers_[number];
  if (last.first == first && last.count == count) return last.place;
  last.memory.resize(std::max(last.memory.size(), static_cast<std::size_t>(count * bytes_of(dtype))));
  last.place = run_.gathers[number]->read(first, count, last.memory.data());
  last.first = first;
  last.count = count;
  return last.place;
}

template <class F>
void Worker::each_moving(const Pass& pass, const F& f) {
  const LoopNest& nest = *pass.nest;
  for (std::size_t k = 0; k < nest.loads.size(); ++k) {
    if (!nest.loads[k].invariant && pass.moves[k] != 0) f(k, bytes_of(nest.loads[k].dtype), false);
  }
  std::size_t next = nest.loads.size();
  for (const Store& each : nest.stores) {
    if (!each.per_row) f(next, bytes_of(each.dtype), true);
    ++next;
  }
  for (const Reduction& each : nest.columns) f(next++, bytes_of(each.accumulator), true);
}

// Runs fewer elements than a vector has, copied to separate vectors whose other places repeat the last
// element.
std::uint64_t Worker::short_call(Pass& pass, std::int64_t count) {
  before_ = pass.places;
  each_moving(pass, [&](std::size_t k, std::int64_t item, bool is_written) {
    std::byte* const vector = vectors_[k].data();
    const bool is_read = !is_written || k >= pass.nest->loads.size() + pass.nest->stores.size();
    if (is_read && count > 0) {
      std::memcpy(vector, pass.places[k], static_cast<std::size_t>(count * item));
      spread(vector, vector + (count - 1) * item, item, count);
    }
    pass.places[k] = vector;
  });
  pass.call.count = kVector;
  pass.call.valid = count;
  pass.call.streaming = 0;
  const std::uint64_t failed = pass.function(&pass.call);
  each_moving(pass, [&](std::size_t k, std::int64_t item, bool is_written) {
    if (is_written)
      std::memcpy(const_cast<void*>(before_[k]), vectors_[k].data(), static_cast<std::size_t>(count * item));
  });
  return failed;
}

}  // namespace kiln::jit
