// Running kernels with reductions: all passes over one row after another while the row is in cache, or, where
// there are few long rows, pass by pass with blocks shared among threads. Either way elements are combined in
// the fixed order (docs/reductions.md).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "jit/kernel.h"
#include "jit/lanes.h"
#include "jit/row_plan.h"
#include "tensor/cpu/copy.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

using Vector = std::array<std::byte, kVector * 8>;

struct Place {
  std::byte* data = nullptr;
  std::int64_t item = 0;
};

// What all threads share.
struct RowRun {
  const Lowered& lowered;
  const RowPlan& plan;
  const std::vector<KernelFn>& functions;
  const std::vector<std::vector<cpu::BlockKernel>>& called;
  std::vector<std::vector<Place>> loads;  // by pass; what passes keep has no data
  std::vector<Place> outputs;
  std::vector<Tensor> copies;
  std::vector<Slot> slots;                         // by row and slot
  std::vector<std::atomic<std::uint64_t>> failed;  // by pass

  RowRun(const Lowered& all, const RowPlan& made, const std::vector<KernelFn>& code,
         const std::vector<std::vector<cpu::BlockKernel>>& kernels, Inputs inputs, const Tensors& results)
      : lowered(all), plan(made), functions(code), called(kernels), failed(all.passes.size()) {
    for (std::size_t p = 0; p < all.passes.size(); ++p) {
      std::vector<Place>& places = loads.emplace_back();
      for (std::size_t k = 0; k < all.passes[p].loads.size(); ++k)
        places.push_back(place_of(all.passes[p].loads[k], made.passes[p].loads[k], inputs));
    }
    for (const Tensor& each : results)
      outputs.push_back({each.raw_writable(), static_cast<std::int64_t>(size_of(each.dtype()))});
    slots.resize(static_cast<std::size_t>(plan.rows) * lowered.slots.size());
  }

  Slot& slot(std::int64_t row, int index) {
    return slots[static_cast<std::size_t>(row) * lowered.slots.size() + static_cast<std::size_t>(index)];
  }

 private:
  Place place_of(const Load& load, const RowLoadPlan& how, Inputs inputs) {
    Place place{nullptr, static_cast<std::int64_t>(size_of(load.dtype))};
    if (load.buffer >= 0) return place;
    const Tensor& input = inputs[static_cast<std::size_t>(load.input)];
    input.check_readable();
    if (how.copied) {
      copies.push_back(cpu::contiguous_copy(Tensor::alias(input, how.layout), input.dtype()));
      place.data = const_cast<std::byte*>(copies.back().raw());
    } else {
      place.data = input.storage()->data();
    }
    return place;
  }
};

// One thread's part: elements [begin, end) of a row in one pass. What is the same for all rows is set up
// once: memory that was just written by halves and is read as a whole would stop the processor until all
// stores before are done.
class Worker {
 public:
  // `kept`: where what passes keep of row 0 begins; `kept_rows`: whether every row has its own.
  Worker(RowRun& run, std::span<std::byte* const> kept, bool kept_rows)
      : run_(run), kept_(kept), kept_rows_(kept_rows), passes_(run.lowered.passes.size()) {
    for (std::size_t p = 0; p < passes_.size(); ++p) prepare(passes_[p], p);
  }

  // Lanes of the pass' reductions are there to be folded afterwards.
  void block(std::size_t p, std::int64_t row, std::int64_t begin, std::int64_t end) {
    Pass& pass = passes_[p];
    place(pass, row, begin);
    pass.call.start = pass.start.data();
    if (!run_.lowered.slots.empty()) pass.call.reduced = run_.slot(row, 0).data();
    pass.call.odd = 0;
    std::int64_t count = end - begin;
    std::uint64_t failed = 0;
    const std::int64_t vectors = count / kVector * kVector;
    const std::int64_t whole = pass.lanes.empty() && vectors > 0 ? count : vectors;
    if (whole > 0) {
      pass.call.valid = kVector;
      pass.call.count = whole;
      failed |= pass.function(&pass.call);
      count -= whole;
      if (count > 0) advance(pass, whole);
      pass.call.odd = whole / kVector % 2;
      pass.call.start = pass.lanes.data();
    }
    if (count > 0) failed |= short_call(pass, count);
    if (begin == end) short_call(pass, 0);  // what is known of a row without elements
    if (failed != 0) run_.failed[p].fetch_or(failed, std::memory_order_relaxed);
  }

  Slot folded(std::size_t p, std::size_t reduction) {
    Pass& pass = passes_[p];
    return pass.ops[reduction]->fold(pass.lanes[reduction]);
  }

 private:
  struct Pass {
    const LoopNest* nest = nullptr;
    const PassPlan* plan = nullptr;
    const std::vector<Place>* loads = nullptr;
    KernelFn function = nullptr;
    KernelCall call{};
    std::vector<const void*> places;  // of loads, then of stores
    std::vector<std::int64_t> moves;
    std::vector<Vector> spread;
    std::vector<Lanes> start;  // never written again, see above
    std::vector<Lanes> lanes;
    std::vector<const LaneOps*> ops;
  };

  void prepare(Pass& pass, std::size_t p) {
    const LoopNest& nest = run_.lowered.passes[p];
    pass.nest = &nest;
    pass.plan = &run_.plan.passes[p];
    pass.loads = &run_.loads[p];
    pass.function = run_.functions[p];
    pass.places.resize(nest.loads.size() + nest.stores.size());
    pass.moves.assign(nest.loads.size(), ~std::int64_t{0});
    pass.spread.resize(nest.loads.size());
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (is_spread(pass, k)) pass.moves[k] = 0;
    }
    pass.lanes.resize(nest.reductions.size());
    pass.start.resize(nest.reductions.size());
    for (const Reduction& each : nest.reductions) pass.ops.push_back(&lane_ops(each));
    for (std::size_t k = 0; k < pass.ops.size(); ++k) pass.ops[k]->start(pass.start[k]);
    pass.call.places = pass.places.data();
    pass.call.moves = pass.moves.data();
    pass.call.numbers = pass.plan->numbers.data();
    pass.call.called = run_.called[p].data();
    pass.call.lanes = pass.lanes.data();
  }
  // One element of memory that the loop reads as a vector of its own.
  static bool is_spread(const Pass& pass, std::size_t k) {
    const Load& load = pass.nest->loads[k];
    return load.buffer < 0 && !load.invariant && pass.plan->loads[k].constant;
  }

  void place(Pass& pass, std::int64_t row, std::int64_t begin) {
    const LoopNest& nest = *pass.nest;
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      const Load& load = nest.loads[k];
      const Place& source = (*pass.loads)[k];
      if (load.buffer >= 0) {
        pass.places[k] = kept(load.buffer, row) + begin * source.item;
        continue;
      }
      const std::byte* const first = source.data + pass.plan->loads[k].at(row) * source.item;
      if (is_spread(pass, k)) {
        spread(pass.spread[k].data(), first, source.item, 0);
        pass.places[k] = pass.spread[k].data();
      } else {
        pass.places[k] = first + (load.invariant ? 0 : begin * source.item);
      }
    }
    for (std::size_t k = 0; k < nest.stores.size(); ++k)
      pass.places[nest.loads.size() + k] = place_of(nest.stores[k], row, begin);
  }
  std::byte* place_of(const Store& store, std::int64_t row, std::int64_t begin) {
    if (store.per_row && begin > 0) return unused_.data();  // the first block has stored it
    const auto item = static_cast<std::int64_t>(size_of(store.dtype));
    if (store.buffer >= 0) return kept(store.buffer, row) + begin * item;
    const std::int64_t element = store.per_row ? row : row * run_.plan.length + begin;
    return run_.outputs[static_cast<std::size_t>(store.output)].data + element * item;
  }
  std::byte* kept(int buffer, std::int64_t row) const {
    const auto item =
        static_cast<std::int64_t>(size_of(run_.lowered.buffers[static_cast<std::size_t>(buffer)]));
    return kept_[static_cast<std::size_t>(buffer)] + (kept_rows_ ? row * run_.plan.length * item : 0);
  }

  static bool moves(const Pass& pass, std::size_t k) {
    return !pass.nest->loads[k].invariant && pass.moves[k] != 0;
  }
  static void advance(Pass& pass, std::int64_t count) {
    const LoopNest& nest = *pass.nest;
    const auto step = [&](std::size_t k, DType dtype) {
      pass.places[k] =
          static_cast<const std::byte*>(pass.places[k]) + count * static_cast<std::int64_t>(size_of(dtype));
    };
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (moves(pass, k)) step(k, nest.loads[k].dtype);
    }
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      if (!nest.stores[k].per_row) step(nest.loads.size() + k, nest.stores[k].dtype);
    }
  }

  // Fewer elements than a vector has, in vectors of their own; the last one stands on the other places.
  std::uint64_t short_call(Pass& pass, std::int64_t count) {
    const LoopNest& nest = *pass.nest;
    vectors_.resize(std::max(vectors_.size(), pass.places.size()));
    before_ = pass.places;
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (!moves(pass, k)) continue;
      const auto item = static_cast<std::int64_t>(size_of(nest.loads[k].dtype));
      std::byte* const vector = vectors_[k].data();
      std::memcpy(vector, pass.places[k], static_cast<std::size_t>(count * item));
      if (count > 0) spread(vector, vector + (count - 1) * item, item, count);
      pass.places[k] = vector;
    }
    for (std::size_t k = nest.loads.size(); k < pass.places.size(); ++k) {
      if (!nest.stores[k - nest.loads.size()].per_row) pass.places[k] = vectors_[k].data();
    }
    pass.call.count = kVector;
    pass.call.valid = count;
    const std::uint64_t failed = pass.function(&pass.call);
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      const std::size_t at = nest.loads.size() + k;
      if (nest.stores[k].per_row) continue;
      std::memcpy(const_cast<void*>(before_[at]), vectors_[at].data(),
                  static_cast<std::size_t>(count) * size_of(nest.stores[k].dtype));
    }
    return failed;
  }

  RowRun& run_;
  std::span<std::byte* const> kept_;
  bool kept_rows_;
  std::vector<Pass> passes_;
  std::vector<Vector> vectors_;
  std::vector<const void*> before_;
  Vector unused_{};
};

// Memory for what passes keep, of so many rows.
class Kept {
 public:
  Kept(const Lowered& lowered, std::int64_t elements) {
    for (const DType dtype : lowered.buffers) {
      buffers_.push_back(Buffer::allocate(static_cast<std::size_t>(elements) * size_of(dtype), Device{}));
      places_.push_back(buffers_.back()->data());
    }
  }
  std::span<std::byte* const> places() const { return places_; }

 private:
  std::vector<Ref<Buffer>> buffers_;
  std::vector<std::byte*> places_;
};

std::int64_t block_of(const LoopNest& nest, std::int64_t length) {
  return nest.reductions.empty() ? length : kReductionBlock;
}

// Each row through all passes.
void row_by_row(RowRun& run, std::int64_t grain) {
  parallel_for(run.plan.rows, std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, run.plan.length)),
               [&run](std::int64_t begin, std::int64_t end) {
                 const std::int64_t length = run.plan.length;
                 const Kept kept(run.lowered, length);
                 Worker worker(run, kept.places(), false);
                 std::vector<std::vector<Slot>> blocks(run.lowered.slots.size());
                 for (std::int64_t row = begin; row < end; ++row) {
                   for (std::size_t p = 0; p < run.lowered.passes.size(); ++p) {
                     const LoopNest& nest = run.lowered.passes[p];
                     const std::int64_t step = std::max<std::int64_t>(1, block_of(nest, length));
                     std::int64_t at = 0;
                     do {
                       worker.block(p, row, at, std::min(at + step, length));
                       for (std::size_t k = 0; k < nest.reductions.size(); ++k)
                         blocks[k].push_back(worker.folded(p, k));
                       at += step;
                     } while (at < length);
                     for (std::size_t k = 0; k < nest.reductions.size(); ++k) {
                       run.slot(row, nest.reductions[k].slot) = lane_ops(nest.reductions[k]).tree(blocks[k]);
                       blocks[k].clear();
                     }
                   }
                 }
               });
}

// Each pass over all blocks of all rows.
void pass_by_pass(RowRun& run, std::int64_t grain) {
  const std::int64_t length = run.plan.length, per_row = reduction_blocks(length);
  const std::int64_t units = run.plan.rows * per_row;
  const Kept kept(run.lowered, run.plan.rows * length);
  for (std::size_t p = 0; p < run.lowered.passes.size(); ++p) {
    const LoopNest& nest = run.lowered.passes[p];
    std::vector<std::vector<Slot>> blocks(nest.reductions.size(),
                                          std::vector<Slot>(static_cast<std::size_t>(units)));
    parallel_for(units, std::max<std::int64_t>(1, grain / kReductionBlock),
                 [&](std::int64_t begin, std::int64_t end) {
                   Worker worker(run, kept.places(), true);
                   for (std::int64_t unit = begin; unit < end; ++unit) {
                     const std::int64_t at = unit % per_row * kReductionBlock;
                     worker.block(p, unit / per_row, at, std::min(at + kReductionBlock, length));
                     for (std::size_t k = 0; k < nest.reductions.size(); ++k)
                       blocks[k][static_cast<std::size_t>(unit)] = worker.folded(p, k);
                   }
                 });
    for (std::size_t k = 0; k < nest.reductions.size(); ++k) {
      for (std::int64_t row = 0; row < run.plan.rows; ++row) {
        const std::span<Slot> all = std::span(blocks[k]).subspan(static_cast<std::size_t>(row * per_row),
                                                                 static_cast<std::size_t>(per_row));
        run.slot(row, nest.reductions[k].slot) = lane_ops(nest.reductions[k]).tree(all);
      }
    }
  }
}

class RowKernel final : public Kernel {
 public:
  RowKernel(Lowered lowered, std::vector<KernelFn> functions, std::shared_ptr<void> code,
            std::vector<std::string> symbols)
      : Kernel(std::move(lowered), std::move(functions), std::move(code), std::move(symbols)) {
    for (const LoopNest& nest : lowered_.passes) grain_ = std::min(grain_, grain_of(nest));
  }

  Tensors run(Inputs inputs, const Dims& symbols) const override {
    const std::shared_ptr<const RowPlan> plan = plan_for(inputs, symbols);
    Tensors outputs;
    for (std::size_t k = 0; k < plan->outputs.size(); ++k)
      outputs.push_back(Tensor::empty(plan->outputs[k], lowered_.outputs[k].dtype, Device{}));
    if (plan->rows == 0) return outputs;
    RowRun run(lowered_, *plan, functions_, called_, inputs, outputs);
    const bool few = plan->rows < 4 * std::int64_t{num_threads()} && plan->length > 4 * kReductionBlock;
    few ? pass_by_pass(run, grain_) : row_by_row(run, grain_);
    for (std::size_t p = 0; p < lowered_.passes.size(); ++p) {
      if (const std::uint64_t found = run.failed[p].load()) fail(lowered_.passes[p], found);
    }
    return outputs;
  }

 private:
  std::shared_ptr<const RowPlan> plan_for(Inputs inputs, const Dims& symbols) const {
    std::shared_ptr<const RowPlan> plan = last_plan_.load();
    const auto same_layout = [](const Tensor& x, const Layout& layout) { return x.layout() == layout; };
    if (plan && plan->symbols == symbols &&
        std::equal(inputs.begin(), inputs.end(), plan->inputs.begin(), plan->inputs.end(), same_layout))
      return plan;
    plan = std::make_shared<const RowPlan>(plan_rows(lowered_, inputs, symbols, named(symbols)));
    last_plan_.store(plan);
    return plan;
  }

  std::int64_t grain_ = std::numeric_limits<std::int64_t>::max();
  mutable std::atomic<std::shared_ptr<const RowPlan>> last_plan_;
};

}  // namespace

std::unique_ptr<const Kernel> make_row_kernel(Lowered lowered, std::vector<KernelFn> functions,
                                              std::shared_ptr<void> code, std::vector<std::string> symbols) {
  return std::make_unique<const RowKernel>(std::move(lowered), std::move(functions), std::move(code),
                                           std::move(symbols));
}

}  // namespace kiln::jit
