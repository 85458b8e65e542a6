// Owns running passes over rows: the state that all threads share, and the worker of one thread.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "jit/cpu/kernel.h"
#include "jit/cpu/lanes.h"
#include "jit/cpu/row_plan.h"
#include "tensor/cpu/linalg/matrices.h"

namespace kiln::jit {

// The state that all threads share.
struct RowRun {
  struct Place {
    std::byte* data = nullptr;
    std::int64_t item = 0;
  };
  std::span<const LoopNest> passes;
  const Lowered& lowered;
  const Schedule& schedule;
  const RowPlan& plan;
  const std::vector<KernelFn>& functions;
  const std::vector<std::vector<cpu::BlockKernel>>& called;
  std::vector<std::vector<Place>> loads;      // by pass; values that passes keep have no data
  std::vector<Place> outputs;                 // those of columns have no data
  std::vector<std::vector<Generator>> draws;  // by pass and load; of a pass that draws
  std::vector<std::unique_ptr<const cpu::GatherReader>> gathers;  // of all passes
  std::vector<std::vector<int>> gather_of;                        // by pass and load; -1: none
  std::vector<Tensor> copies;
  std::vector<Slot> slots;                         // by row and slot
  std::vector<std::atomic<std::uint64_t>> failed;  // by pass
  bool streaming = false;                          // the stores marked as streaming do stream

  RowRun(const Lowered& lowered, const Schedule& schedule, const RowPlan& plan,
         const std::vector<KernelFn>& functions, const std::vector<std::vector<cpu::BlockKernel>>& called,
         Inputs inputs, const Tensors& results);
  ScheduledNest scheduled(std::size_t pass) const { return {&passes[pass], &schedule.nests[pass]}; }

  Slot& slot(std::int64_t row, int index) {
    return slots[static_cast<std::size_t>(row) * lowered.slots.size() + static_cast<std::size_t>(index)];
  }

 private:
  void take_draws();
  void open_gathers(Inputs inputs);
  Place place_of(const Load& load, const RowLoadPlan& how, Inputs inputs);
};

// Memory for the values that passes keep of one row: scratch of one thread, as in eager kernels over rows.
class KeptRow {
 public:
  KeptRow(const Lowered& lowered, std::int64_t length);
  std::span<std::byte* const> places() const { return places_; }

 private:
  cpu::Scratch memory_;
  std::vector<std::byte*> places_;
};

// The same for all rows together. It counts as memory of tensors.
class KeptRows {
 public:
  KeptRows(const Lowered& lowered, std::int64_t elements);
  std::span<std::byte* const> places() const { return places_; }

 private:
  std::vector<Ref<Buffer>> buffers_;
  std::vector<std::byte*> places_;
};

// Runs elements [begin, end) of a row in one pass, on one thread. Data that is the same for all rows is set
// up once: reading memory as a whole that was just written in halves would stop the processor until all
// earlier stores are done.
class Worker {
 public:
  // `kept`: the memory for the values that passes keep, by buffer; `kept_rows`: whether every row has its
  // own.
  Worker(RowRun& run, std::span<std::byte* const> kept, bool kept_rows);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs one pass; afterwards the lanes of its reductions are ready to be folded. Where rows are contiguous
  // in memory, `end` may be in a later one.
  void block(std::size_t pass, std::int64_t row, std::int64_t begin, std::int64_t end);
  Slot folded(std::size_t pass, std::size_t reduction);
  // Runs all passes over part of a row; over a whole one where passes reduce it. `next`: how many rows
  // further the next call is.
  void row(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t next = 1);
  // Sets the accumulators of columns, by reduction; they begin with element `begin` of the row.
  void take_columns(std::span<std::byte* const> accumulators, std::int64_t begin);

 private:
  using Vector = std::array<std::byte, kVector * 8>;
  // The elements of a load or store whose distances are the same in all rows.
  struct Straight {
    std::size_t place;
    std::byte* first;
    std::int64_t row, element;  // bytes from one to the next
  };
  static constexpr std::int64_t kFetched = 1024;  // elements ahead of those at hand, within a long row
  struct Pass {
    const LoopNest* nest = nullptr;
    const NestSchedule* schedule = nullptr;
    const PassPlan* plan = nullptr;
    const std::vector<Generator>* draws = nullptr;
    std::span<const int> gather_of;
    const std::vector<RowRun::Place>* loads = nullptr;
    KernelFn function = nullptr;
    KernelCall call{};
    std::vector<const void*> places;  // of loads, then of stores, then of columns
    std::vector<Straight> straight;
    std::vector<std::size_t> other;    // loads that are not straight
    std::vector<std::size_t> per_row;  // stores of one element for each row
    std::vector<std::int64_t> moves;
    std::vector<Vector> spread;
    std::vector<std::vector<std::byte>> drawn;  // by load
    std::vector<Lanes> start;                   // empty lanes, never written again, see above
    std::vector<Lanes> lanes;
    std::vector<const LaneOps*> ops;
  };
  // Calls f(place, bytes of an element, is written) for each place that moves with the loop.
  template <class F>
  static void each_moving(const Pass& pass, const F& f);

  void prepare(Pass& pass, std::size_t p);
  static bool is_same_for_row(const Pass& pass, std::size_t load);
  void place(Pass& pass, std::int64_t row, std::int64_t begin, std::int64_t end);
  static const std::byte* draw(Pass& pass, std::size_t load, std::int64_t first, std::int64_t count);
  const std::byte* gather(std::size_t number, DType dtype, std::int64_t first, std::int64_t count);
  void place_load(Pass& pass, std::size_t k, std::int64_t row, std::int64_t begin, std::int64_t end);
  void find_straight(Pass& pass) const;
  std::uint64_t short_call(Pass& pass, std::int64_t count);

  RowRun& run_;
  std::span<std::byte* const> kept_;
  bool kept_rows_;
  std::vector<Pass> passes_;
  // The elements that a gather load gave last. A later pass over the same elements finds them there.
  struct LastGather {
    std::int64_t first = -1, count = 0;
    const std::byte* place = nullptr;
    std::vector<std::byte> memory;
  };
  std::vector<LastGather> gathers_;
  std::vector<Vector> vectors_;
  std::vector<const void*> before_;
  std::vector<std::vector<Slot>> blocks_;  // of a row, by reduction
  std::span<std::byte* const> columns_;
  std::int64_t columns_begin_ = 0;
  std::int64_t ahead_ = kFetched;
  Vector unused_{};
};

}  // namespace kiln::jit
