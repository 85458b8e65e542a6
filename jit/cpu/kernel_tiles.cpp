// Running kernels of short rows: a tile is kVector interleaved rows. Their elements are transposed into
// vectors before the first pass that reads them, and back out of the vectors that a pass stores. Elements are
// combined in the fixed order (docs/reductions.md): those of a row are in different vectors, so lanes are
// vectors, too.
#include <algorithm>
#include <cstring>
#include <limits>

#include "jit/cpu/row_worker.h"
#include "jit/loops/recent_plans.h"
#include "tensor/cpu/element_size.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kWidest = 8;  // bytes of an element

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

// ---- Rows into vectors and back ----

using Four = std::uint32_t __attribute__((vector_size(16)));

// Transposes 4 × 4 elements.
void transpose(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to,
               std::int64_t to_stride) {
  Four rows[4];
  for (std::int64_t i = 0; i < 4; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Four));
  const Four low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Four turned[] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (std::int64_t i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &turned[i], sizeof(Four));
}

// to[c * to_stride + r] = from[r * from_stride + c].
template <class T>
void turn(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
          std::int64_t columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(T) == 4) {
    whole_rows = rows / 4 * 4;
    whole_columns = columns / 4 * 4;
    for (std::int64_t c = 0; c < whole_columns; c += 4) {
      for (std::int64_t r = 0; r < whole_rows; r += 4)
        transpose(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// Numbers the loads of each pass, equal ones alike: they share the vectors laid out for the first of them.
std::vector<std::vector<int>> shared_memory(std::span<const LoopNest> passes) {
  std::vector<std::vector<int>> numbers;
  std::vector<const Load*> known;
  for (const LoopNest& pass : passes) {
    std::vector<int>& of_loads = numbers.emplace_back();
    for (const Load& load : pass.loads) {
      const auto same = std::find_if(known.begin(), known.end(), [&load](const Load* each) {
        return load.drawn == nullptr && *each == load;
      });
      of_loads.push_back(static_cast<int>(same - known.begin()));
      if (same == known.end()) known.push_back(&load);
    }
  }
  return numbers;
}

// The work of one thread.
class Tiles {
 public:
  explicit Tiles(RowRun& run)
      : run_(run),
        length_(run.plan.length),
        lanes_(std::clamp<std::int64_t>(length_, 1, kReductionLanes)),
        blocks_(std::max<std::int64_t>(1, reduction_blocks(length_))),
        slots_(run.lowered.slots.size()),
        memory_of_(shared_memory(run.passes)) {
    for (std::size_t p = 0; p < run.passes.size(); ++p) {
      const LoopNest& nest = run.passes[p];
      Pass& pass = passes_.emplace_back();
      pass.places.resize(nest.loads.size() + nest.stores.size() + nest.columns.size());
      pass.moves.assign(nest.loads.size(), 0);
      for (std::size_t k = 0; k < nest.loads.size(); ++k) {
        const Load& load = nest.loads[k];
        const bool is_constant = load.input >= 0 && (load.per_row || run.plan.passes[p].loads[k].constant);
        if (load.column < 0 && !load.per_row && !load.invariant && !is_constant)
          pass.moves[k] = ~std::int64_t{0};
        const auto number = static_cast<std::size_t>(memory_of_[p][k]);
        if (number >= laid_out_.size()) laid_out_.resize(number + 1);
      }
      for (const Store& each : nest.stores) {
        if (each.buffer >= 0) kept_.resize(std::max(kept_.size(), static_cast<std::size_t>(each.buffer) + 1));
      }
      stored_.resize(std::max(stored_.size(), nest.stores.size()));
      accumulators_.resize(std::max(accumulators_.size(), nest.columns.size()));
    }
    for (Memory& each : slots_) each.of(kVector * kWidest);
  }

  // Runs rows [row, row + kVector), as far as they exist. Vector places without a row repeat the last row, so
  // they fail only where that row does.
  void tile(std::int64_t row) {
    row_ = row;
    rows_ = std::min(kVector, run_.plan.rows - row);
    for (LaidOutLoad& each : laid_out_) each.is_there = each.is_same_for_all && each.is_there;
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      for (std::size_t k = 0; k < run_.passes[p].loads.size(); ++k) load(p, k);
      stores(p);
      is_of_rows(p) ? call(p, kVector) : elements(p);
      take_out(p);
    }
  }

 private:
  struct Pass {
    std::vector<const void*> places;
    std::vector<std::int64_t> moves;
  };
  class Memory {
   public:
    std::byte* of(std::int64_t bytes) {
      bytes_.resize(std::max(bytes_.size(), static_cast<std::size_t>(bytes)));
      return bytes_.data();
    }

   private:
    std::vector<std::byte> bytes_;
  };
  struct LaidOutLoad {
    bool is_there = false;
    bool is_same_for_all = false;  // rows
    Memory memory;
    const std::byte* place = nullptr;
  };

  bool is_of_rows(std::size_t p) const { return run_.schedule.nests[p].of_rows; }
  std::int64_t row_at(std::int64_t i) const { return row_ + std::min(i, rows_ - 1); }

  // ---- Loads ----

  void load(std::size_t p, std::size_t k) {
    const Load& load = run_.passes[p].loads[k];
    const void*& place = passes_[p].places[k];
    if (load.column >= 0) {
      place = slots_[static_cast<std::size_t>(load.column)].of(0);
    } else if (load.buffer >= 0) {
      place = kept(load.buffer, load.dtype);
    } else if (load.invariant) {
      place = run_.loads[p][k].data + run_.plan.passes[p].loads[k].offset * run_.loads[p][k].item;
    } else {
      LaidOutLoad& laid = laid_out_[static_cast<std::size_t>(memory_of_[p][k])];
      if (!laid.is_there) lay_out(p, k, laid);
      laid.is_there = true;
      place = laid.place;
    }
  }
  std::byte* kept(int buffer, DType dtype) {
    return kept_[static_cast<std::size_t>(buffer)].of(std::max<std::int64_t>(1, length_) * kVector *
                                                      bytes_of(dtype));
  }

  void lay_out(std::size_t p, std::size_t k, LaidOutLoad& laid) {
    const Load& load = run_.passes[p].loads[k];
    const RowLoadPlan& plan = run_.plan.passes[p].loads[k];
    const std::int64_t item = bytes_of(load.dtype);
    const bool is_one = passes_[p].moves[k] == 0;  // for each row
    std::byte* const to = laid.memory.of((is_one ? 1 : std::max<std::int64_t>(1, length_)) * kVector * item);
    laid.place = to;
    if (load.drawn != nullptr || load.gather != nullptr) {
      put_in(load.dtype, to, made(p, k, load), length_);
      return;
    }
    const std::byte* const data = run_.loads[p][k].data;
    laid.is_same_for_all =
        std::all_of(plan.strides.begin(), plan.strides.end(), [](Dim stride) { return stride == 0; });
    if (is_one) {
      for (std::int64_t i = 0; i < kVector; ++i)
        std::memcpy(to + i * item, data + plan.at(row_at(i)) * item, static_cast<std::size_t>(item));
    } else if (plan.outer.size() <= 1) {
      put_in(load.dtype, to, data + plan.at(row_) * item, plan.outer.empty() ? 0 : plan.strides[0]);
    } else {
      for (std::int64_t i = 0; i < rows_; ++i) put_row(load.dtype, to, data + plan.at(row_ + i) * item, i);
      fill_up(load.dtype, to);
    }
  }
  // Random numbers and gather loads are made row after row.
  const std::byte* made(std::size_t p, std::size_t k, const Load& load) {
    const std::int64_t first = row_ * length_, count = rows_ * length_;
    std::byte* const memory = made_.of(count * bytes_of(load.dtype));
    if (load.gather != nullptr)
      return run_.gathers[static_cast<std::size_t>(run_.gather_of[p][k])]->read(first, count, memory);
    cpu::fill_part(load.dtype, run_.plan.passes[p].loads[k].distribution, run_.draws[p][k], first, count,
                   memory);
    return memory;
  }
  void put_in(DType dtype, std::byte* to, const std::byte* from, std::int64_t stride) const {
    cpu::visit_size(dtype, [&]<class T>() {
      turn(reinterpret_cast<const T*>(from), stride, reinterpret_cast<T*>(to), kVector, rows_, length_);
    });
    fill_up(dtype, to);
  }
  void put_row(DType dtype, std::byte* to, const std::byte* from, std::int64_t i) const {
    cpu::visit_size(dtype, [&]<class T>() {
      for (std::int64_t j = 0; j < length_; ++j)
        reinterpret_cast<T*>(to)[j * kVector + i] = reinterpret_cast<const T*>(from)[j];
    });
  }
  // Fills vector places without a row.
  void fill_up(DType dtype, std::byte* to) const {
    if (rows_ == kVector) return;
    cpu::visit_size(dtype, [&]<class T>() {
      for (T* vector = reinterpret_cast<T*>(to); vector < reinterpret_cast<T*>(to) + length_ * kVector;
           vector += kVector)
        std::fill(vector + rows_, vector + kVector, vector[rows_ - 1]);
    });
  }

  // ---- Stores ----

  void stores(std::size_t p) {
    const LoopNest& nest = run_.passes[p];
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      const Store& store = nest.stores[k];
      const std::int64_t vectors = is_of_rows(p) ? 1 : std::max<std::int64_t>(1, length_);
      passes_[p].places[nest.loads.size() + k] =
          store.buffer >= 0 ? kept(store.buffer, store.dtype)
                            : stored_[k].of(vectors * kVector * bytes_of(store.dtype));
    }
  }
  // Copies the results that a pass stored to the outputs, as far as rows exist.
  void take_out(std::size_t p) {
    const LoopNest& nest = run_.passes[p];
    for (std::size_t k = 0; k < nest.stores.size(); ++k) {
      const Store& store = nest.stores[k];
      if (store.buffer >= 0) continue;
      const std::int64_t item = bytes_of(store.dtype);
      std::byte* const data = run_.outputs[static_cast<std::size_t>(store.output)].data;
      if (is_of_rows(p)) {
        std::memcpy(data + row_ * item, stored_[k].of(0), static_cast<std::size_t>(rows_ * item));
        continue;
      }
      cpu::visit_size(store.dtype, [&]<class T>() {
        turn(reinterpret_cast<const T*>(stored_[k].of(0)), kVector,
             reinterpret_cast<T*>(data) + row_ * length_, length_, length_, rows_);
      });
    }
  }

  // ---- Calls ----

  // Runs the pass over all elements; where it combines them, as many at a time as there are lanes.
  void elements(std::size_t p) {
    const LoopNest& nest = run_.passes[p];
    if (nest.columns.empty()) {
      if (length_ > 0) call(p, length_ * kVector);
      return;
    }
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (std::size_t k = 0; k < nest.columns.size(); ++k)
        ops(nest, k).start_rows(accumulators(nest, k, block), lanes_ * kVector);
      const std::int64_t end = std::min(length_, (block + 1) * kReductionBlock);
      for (std::int64_t j = block * kReductionBlock; j < end; j += kReductionLanes) {
        for (std::size_t k = 0; k < nest.columns.size(); ++k)
          passes_[p].places[nest.loads.size() + nest.stores.size() + k] = accumulators(nest, k, block);
        call_from(p, j, std::min<std::int64_t>(kReductionLanes, end - j));
      }
      const std::int64_t lanes = std::clamp<std::int64_t>(end - block * kReductionBlock, 1, lanes_);
      for (std::size_t k = 0; k < nest.columns.size(); ++k)
        ops(nest, k).fold_rows(accumulators(nest, k, block), lanes, kVector, kVector);
    }
    for (std::size_t k = 0; k < nest.columns.size(); ++k) {
      std::byte* const first = accumulators(nest, k, 0);
      ops(nest, k).tree_rows(first, blocks_, lanes_ * kVector, kVector);
      std::memcpy(slots_[static_cast<std::size_t>(nest.columns[k].slot)].of(0), first,
                  static_cast<std::size_t>(kVector * bytes_of(nest.columns[k].accumulator)));
    }
  }
  static const LaneOps& ops(const LoopNest& nest, std::size_t k) { return lane_ops(nest.columns[k]); }
  // The accumulators of a block's lanes, followed by those of the next block.
  std::byte* accumulators(const LoopNest& nest, std::size_t k, std::int64_t block) {
    const std::int64_t bytes = lanes_ * kVector * bytes_of(nest.columns[k].accumulator);
    return accumulators_[k].of(blocks_ * bytes) + block * bytes;
  }

  void call_from(std::size_t p, std::int64_t begin, std::int64_t vectors) {
    const LoopNest& nest = run_.passes[p];
    std::vector<const void*>& places = passes_[p].places;
    const auto shift = [&](std::int64_t by) {
      for (std::size_t k = 0; k < nest.loads.size(); ++k) {
        if (passes_[p].moves[k] != 0) move(places[k], by * kVector * bytes_of(nest.loads[k].dtype));
      }
      for (std::size_t k = 0; k < nest.stores.size(); ++k)
        move(places[nest.loads.size() + k], by * kVector * bytes_of(nest.stores[k].dtype));
    };
    shift(begin);
    call(p, vectors * kVector);
    shift(-begin);
  }
  static void move(const void*& place, std::int64_t bytes) {
    place = static_cast<const std::byte*>(place) + bytes;
  }

  void call(std::size_t p, std::int64_t count) {
    KernelCall call{};
    call.places = passes_[p].places.data();
    call.moves = passes_[p].moves.data();
    call.numbers = run_.plan.passes[p].numbers.data();
    call.called = run_.called[p].data();
    call.count = count;
    if (const std::uint64_t failed = run_.functions[p](&call))
      run_.failed[p].fetch_or(failed, std::memory_order_relaxed);
  }

  RowRun& run_;
  std::int64_t length_, lanes_, blocks_;
  std::int64_t row_ = 0, rows_ = 0;
  std::vector<Pass> passes_;
  std::vector<Memory> slots_;                // results of reductions, by slot
  std::vector<std::vector<int>> memory_of_;  // by pass and load: its place in `laid_out_`
  std::vector<LaidOutLoad> laid_out_;
  std::vector<Memory> kept_, stored_, accumulators_;
  Memory made_;
};

class TileKernel final : public CpuKernel {
 public:
  explicit TileKernel(KernelParts parts) : CpuKernel(std::move(parts)) {
    for (const LoopNest& nest : passes()) grain_ = std::min(grain_, grain_of(nest));
  }

  Tensors run(Inputs inputs, const Dims& symbols) const override {
    const auto plan = plans_.get(
        inputs, symbols, [&] { return plan_rows(lowered(), layouts_of(inputs), symbols, named(symbols)); });
    Tensors outputs;
    for (std::size_t k = 0; k < plan->outputs.size(); ++k)
      outputs.push_back(Tensor::empty(plan->outputs[k], lowered().outputs[k].dtype, Device{}));
    RowRun run(lowered(), schedule(), *plan, functions_, called_, inputs, outputs);
    const std::int64_t tiles = ceil_divide(plan->rows, kVector);
    const std::int64_t in_tile = kVector * std::max<std::int64_t>(1, plan->length);
    parallel_for(tiles, std::max<std::int64_t>(1, grain_ / in_tile),
                 [&](std::int64_t begin, std::int64_t end) {
                   Tiles worker(run);
                   for (std::int64_t tile = begin; tile < end; ++tile) worker.tile(tile * kVector);
                 });
    for (std::size_t p = 0; p < run.passes.size(); ++p) {
      if (const std::uint64_t found = run.failed[p].load()) fail(lowered().passes[p], found);
    }
    return outputs;
  }

 private:
  std::int64_t grain_ = std::numeric_limits<std::int64_t>::max();
  RecentPlans<RowPlan> plans_;
};

}  // namespace

std::unique_ptr<const Kernel> make_tile_kernel(KernelParts parts) {
  return std::make_unique<const TileKernel>(std::move(parts));
}

}  // namespace kiln::jit
