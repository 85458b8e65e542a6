// Running kernels with reductions: all passes over one row after another while the row is in cache, or, where
// there are few long rows, pass by pass with blocks shared among threads. Either way elements are combined in
// the fixed order (docs/reductions.md).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "jit/kernel.h"
#include "tensor/cpu/copy.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

using Slot = std::array<std::byte, kSlotBytes>;
using Vector = std::array<std::byte, kVector * 8>;

// ---- The fixed order, above vectors ----

template <class F>
decltype(auto) with_accumulator(DType dtype, F&& f) {
  if (dtype == DType::F32) return f(float{});
  if (dtype == DType::F64) return f(double{});
  return f(std::int64_t{});
}

template <class T>
T combined(cpu::Combine combine, T a, T b) {
  using Wrapping = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>;
  switch (combine) {
    case cpu::Combine::Sum:
      return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    case cpu::Combine::Prod:
      return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    case cpu::Combine::Max:
      return a > b || a != a ? a : b;
    case cpu::Combine::Min:
      break;
  }
  return a < b || a != a ? a : b;
}

template <class T>
T identity_of(cpu::Combine combine) {
  using Limits = std::numeric_limits<T>;
  switch (combine) {
    case cpu::Combine::Sum:
      return T(0);
    case cpu::Combine::Prod:
      return T(1);
    case cpu::Combine::Max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case cpu::Combine::Min:
      break;
  }
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

struct alignas(64) Lanes {
  std::byte bytes[kLanesBytes];
};

void start(const Reduction& reduction, Lanes& lanes) {
  with_accumulator(reduction.accumulator, [&]<class T>(T) {
    std::fill_n(reinterpret_cast<T*>(lanes.bytes), kReductionLanes, identity_of<T>(reduction.combine));
  });
}

// Halves of the lanes onto each other, in their memory.
Slot folded(const Reduction& reduction, Lanes& lanes) {
  Slot slot{};
  with_accumulator(reduction.accumulator, [&]<class T>(T) {
    T* const lane = reinterpret_cast<T*>(lanes.bytes);
    for (int half = kReductionLanes / 2; half >= 1; half /= 2) {
      for (int j = 0; j < half; ++j) lane[j] = combined(reduction.combine, lane[j], lane[j + half]);
    }
    std::memcpy(slot.data(), lane, sizeof(T));
  });
  return slot;
}

// The tree over blocks: pairs of neighbours, an odd last one goes up unchanged. Uses the memory of `blocks`.
Slot tree(const Reduction& reduction, std::span<Slot> blocks) {
  with_accumulator(reduction.accumulator, [&]<class T>(T) {
    const auto at = [&](std::size_t i) {
      T value;
      std::memcpy(&value, blocks[i].data(), sizeof value);
      return value;
    };
    for (std::size_t count = blocks.size(); count > 1; count = (count + 1) / 2) {
      for (std::size_t i = 0; i < count / 2; ++i) {
        const T value = combined(reduction.combine, at(2 * i), at(2 * i + 1));
        std::memcpy(blocks[i].data(), &value, sizeof value);
      }
      if (count % 2 != 0) blocks[count / 2] = blocks[count - 1];
    }
  });
  return blocks[0];
}

// ---- The plan ----

struct LoadPlan {
  Layout layout;        // as it is read, over all axes; of what is per row: over the rows
  bool copied = false;  // to contiguous memory first
  Dims outer;           // sizes and strides along the rows, merged where they can be
  Dims strides;
  std::int64_t offset = 0;
  bool constant = false;  // one element for the whole row

  std::int64_t at(std::int64_t row) const {
    std::int64_t place = offset;
    for (std::size_t d = outer.size(); d-- > 0; row /= outer[d]) place += row % outer[d] * strides[d];
    return place;
  }
};
struct PassPlan {
  std::vector<LoadPlan> loads;  // empty ones for what passes keep
  std::vector<std::int64_t> numbers;
};
struct RowPlan {
  Dims symbols;
  std::vector<Layout> inputs;
  std::vector<Dims> outputs;
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::vector<PassPlan> passes;
};

void merge_outer(LoadPlan& load, std::span<const Dim> sizes, std::span<const Dim> strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!load.outer.empty() && load.strides.back() == strides[d] * sizes[d]) {
      load.outer.back() *= sizes[d];
      load.strides.back() = strides[d];
    } else {
      load.outer.push_back(sizes[d]);
      load.strides.push_back(strides[d]);
    }
  }
}

// Are the elements of the dimensions one and the same, or one after the other? Else they are copied first.
bool is_constant(std::span<const Dim> sizes, std::span<const Dim> strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && strides[d] != 0) return false;
  }
  return true;
}
bool is_dense(std::span<const Dim> sizes, std::span<const Dim> strides) {
  Dim expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

LoadPlan plan_load(const Load& load, Layout layout, const Dims& axes, std::size_t outer) {
  LoadPlan plan;
  if (load.per_row) {
    // Along the rows alone, whether dimensions of size 1 are kept or not.
    plan.layout = layout;
    layout.sizes.resize(outer);
    layout.strides.resize(outer);
    merge_outer(plan, layout.sizes, layout.strides);
    plan.offset = layout.offset;
    return plan;
  }
  plan.layout = broadcast_layout(layout, axes);
  std::span<const Dim> strides = plan.layout.strides;
  const std::span<const Dim> sizes = axes;
  plan.constant = is_constant(sizes.subspan(outer), strides.subspan(outer));
  plan.copied = !plan.constant && !is_dense(sizes.subspan(outer), strides.subspan(outer));
  const Dims dense = contiguous_strides(axes);
  if (plan.copied) strides = dense;
  merge_outer(plan, sizes.first(outer), strides.first(outer));
  plan.offset = plan.copied ? 0 : plan.layout.offset;
  return plan;
}

RowPlan plan_rows(const Lowered& lowered, Inputs inputs, const Dims& symbols, const SymbolValues& values) {
  RowPlan plan;
  plan.symbols = symbols;
  for (const Tensor& each : inputs) plan.inputs.push_back(each.layout());
  for (const KernelOutput& each : lowered.outputs) plan.outputs.push_back(evaluate(each.sizes, values));
  const Dims axes = evaluate(lowered.passes[0].axes, values);
  const std::size_t outer = axes.size() - static_cast<std::size_t>(lowered.passes[0].row_rank);
  for (std::size_t d = 0; d < axes.size(); ++d) (d < outer ? plan.rows : plan.length) *= axes[d];
  for (const LoopNest& nest : lowered.passes) {
    PassPlan& pass = plan.passes.emplace_back();
    for (const Size& each : nest.numbers) pass.numbers.push_back(each.evaluate(values));
    for (const Load& load : nest.loads) {
      if (load.buffer >= 0) {
        pass.loads.emplace_back();
        continue;
      }
      const Layout given = layout_of(load, plan.inputs[static_cast<std::size_t>(load.input)], values);
      pass.loads.push_back(plan_load(load, given, axes, outer));
    }
  }
  return plan;
}

// ---- The run ----

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
  Place place_of(const Load& load, const LoadPlan& how, Inputs inputs) {
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

// One thread's part: elements [begin, end) of a row in one pass.
class Worker {
 public:
  // `kept`: where what passes keep of row 0 begins; `kept_rows`: whether every row has its own.
  Worker(RowRun& run, std::span<std::byte* const> kept, bool kept_rows)
      : run_(run), kept_(kept), kept_rows_(kept_rows) {}

  // Lanes of the pass' reductions are in `lanes` afterwards.
  void block(std::size_t p, std::int64_t row, std::int64_t begin, std::int64_t end,
             std::vector<Lanes>& lanes) {
    const LoopNest& nest = run_.lowered.passes[p];
    place(p, row, begin);
    lanes.resize(nest.reductions.size());
    for (std::size_t k = 0; k < lanes.size(); ++k) start(nest.reductions[k], lanes[k]);
    KernelCall call{};
    call.numbers = run_.plan.passes[p].numbers.data();
    call.called = run_.called[p].data();
    call.reduced = run_.lowered.slots.empty() ? nullptr : run_.slot(row, 0).data();
    call.lanes = lanes.data();
    std::int64_t count = end - begin;
    std::uint64_t failed = 0;
    const std::int64_t whole = lanes.empty() ? (count >= kVector ? count : 0) : count / kVector * kVector;
    if (whole > 0) {
      call.valid = kVector;
      call.count = whole;
      failed |= run(p, call);
      advance(nest, whole);
      count -= whole;
      call.odd = whole / kVector % 2;
    }
    if (count > 0) failed |= short_call(p, call, count);
    if (begin == end) short_call(p, call, 0);  // what is known of a row without elements
    if (failed != 0) run_.failed[p].fetch_or(failed, std::memory_order_relaxed);
  }

 private:
  std::uint64_t run(std::size_t p, KernelCall& call) const {
    call.places = places_.data();
    call.moves = moves_.data();
    return run_.functions[p](&call);
  }

  void place(std::size_t p, std::int64_t row, std::int64_t begin) {
    const LoopNest& nest = run_.lowered.passes[p];
    const std::int64_t length = run_.plan.length;
    places_.assign(nest.loads.size() + nest.stores.size(), nullptr);
    moves_.assign(nest.loads.size(), ~std::int64_t{0});
    spread_.resize(std::max(spread_.size(), nest.loads.size()));
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      const Load& load = nest.loads[k];
      const Place& source = run_.loads[p][k];
      if (load.buffer >= 0) {
        places_[k] = kept(load.buffer, row) + begin * source.item;
        continue;
      }
      const LoadPlan& how = run_.plan.passes[p].loads[k];
      const std::byte* const first = source.data + how.at(row) * source.item;
      if (how.constant && !load.invariant) {
        spread(spread_[k].data(), first, source.item, 0);
        places_[k] = spread_[k].data();
        moves_[k] = 0;
      } else {
        places_[k] = first + (load.invariant ? 0 : begin * source.item);
      }
    }
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      const Store& store = nest.stores[k];
      const auto item = static_cast<std::int64_t>(size_of(store.dtype));
      if (store.per_row && begin > 0) {  // the first block has stored it
        places_[nest.loads.size() + k] = unused_.data();
        continue;
      }
      const std::int64_t element = store.per_row ? row : row * length + begin;
      places_[nest.loads.size() + k] =
          store.buffer >= 0 ? kept(store.buffer, row) + begin * item
                            : run_.outputs[static_cast<std::size_t>(store.output)].data + element * item;
    }
  }
  std::byte* kept(int buffer, std::int64_t row) const {
    const auto item =
        static_cast<std::int64_t>(size_of(run_.lowered.buffers[static_cast<std::size_t>(buffer)]));
    return kept_[static_cast<std::size_t>(buffer)] + (kept_rows_ ? row * run_.plan.length * item : 0);
  }

  bool moves(const LoopNest& nest, std::size_t k) const { return !nest.loads[k].invariant && moves_[k] != 0; }
  void advance(const LoopNest& nest, std::int64_t count) {
    const auto step = [&](std::size_t k, DType dtype) {
      places_[k] =
          static_cast<const std::byte*>(places_[k]) + count * static_cast<std::int64_t>(size_of(dtype));
    };
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (moves(nest, k)) step(k, nest.loads[k].dtype);
    }
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      if (!nest.stores[k].per_row) step(nest.loads.size() + k, nest.stores[k].dtype);
    }
  }

  // Fewer elements than a vector has, in vectors of their own; the last one stands on the other places.
  std::uint64_t short_call(std::size_t p, KernelCall& call, std::int64_t count) {
    const LoopNest& nest = run_.lowered.passes[p];
    vectors_.resize(std::max(vectors_.size(), places_.size()));
    const std::vector<const void*> before = places_;
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (!moves(nest, k)) continue;
      const auto item = static_cast<std::int64_t>(size_of(nest.loads[k].dtype));
      std::byte* const vector = vectors_[k].data();
      std::memcpy(vector, places_[k], static_cast<std::size_t>(count * item));
      if (count > 0) spread(vector, vector + (count - 1) * item, item, count);
      places_[k] = vector;
    }
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      if (!nest.stores[k].per_row) places_[nest.loads.size() + k] = vectors_[nest.loads.size() + k].data();
    }
    call.count = kVector;
    call.valid = count;
    const std::uint64_t failed = run(p, call);
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      const std::size_t at = nest.loads.size() + k;
      if (nest.stores[k].per_row) continue;
      std::memcpy(const_cast<void*>(before[at]), vectors_[at].data(),
                  static_cast<std::size_t>(count) * size_of(nest.stores[k].dtype));
    }
    return failed;
  }

  RowRun& run_;
  std::span<std::byte* const> kept_;
  bool kept_rows_;
  std::vector<const void*> places_;
  std::vector<std::int64_t> moves_;
  std::vector<Vector> spread_;
  std::vector<Vector> vectors_;
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
                 std::vector<Lanes> lanes;
                 std::vector<std::vector<Slot>> blocks(run.lowered.slots.size());
                 for (std::int64_t row = begin; row < end; ++row) {
                   for (std::size_t p = 0; p < run.lowered.passes.size(); ++p) {
                     const LoopNest& nest = run.lowered.passes[p];
                     const std::int64_t step = std::max<std::int64_t>(1, block_of(nest, length));
                     std::int64_t at = 0;
                     do {
                       worker.block(p, row, at, std::min(at + step, length), lanes);
                       for (std::size_t k = 0; k < lanes.size(); ++k)
                         blocks[k].push_back(folded(nest.reductions[k], lanes[k]));
                       at += step;
                     } while (at < length);
                     for (std::size_t k = 0; k < nest.reductions.size(); ++k) {
                       run.slot(row, nest.reductions[k].slot) = tree(nest.reductions[k], blocks[k]);
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
                   std::vector<Lanes> lanes;
                   for (std::int64_t unit = begin; unit < end; ++unit) {
                     const std::int64_t at = unit % per_row * kReductionBlock;
                     worker.block(p, unit / per_row, at, std::min(at + kReductionBlock, length), lanes);
                     for (std::size_t k = 0; k < lanes.size(); ++k)
                       blocks[k][static_cast<std::size_t>(unit)] = folded(nest.reductions[k], lanes[k]);
                   }
                 });
    for (std::size_t k = 0; k < nest.reductions.size(); ++k) {
      for (std::int64_t row = 0; row < run.plan.rows; ++row) {
        const std::span<Slot> all = std::span(blocks[k]).subspan(static_cast<std::size_t>(row * per_row),
                                                                 static_cast<std::size_t>(per_row));
        run.slot(row, nest.reductions[k].slot) = tree(nest.reductions[k], all);
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
