// Owns running passes over rows: what all threads share, and the part of one of them.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "jit/kernel.h"
#include "jit/lanes.h"
#include "jit/row_plan.h"
#include "tensor/cpu/matrices.h"

namespace kiln::jit {

// What all threads share.
struct RowRun {
  struct Place {
    std::byte* data = nullptr;
    std::int64_t item = 0;
  };
  std::span<const LoopNest> passes;
  const Lowered& lowered;
  const RowPlan& plan;
  const std::vector<KernelFn>& functions;
  const std::vector<std::vector<cpu::BlockKernel>>& called;
  std::vector<std::vector<Place>> loads;                          // by pass; what passes keep has no data
  std::vector<Place> outputs;                                     // those of columns have no data
  std::vector<std::vector<Generator>> draws;                      // by pass and load; of a pass that draws
  std::vector<std::unique_ptr<const cpu::GatherReader>> gathers;  // of all passes
  std::vector<std::vector<int>> gather_of;                        // by pass and load; -1: none
  std::vector<Tensor> copies;
  std::vector<Slot> slots;                         // by row and slot
  std::vector<std::atomic<std::uint64_t>> failed;  // by pass
  bool streaming = false;                          // the stores marked as streaming do stream

  RowRun(const Lowered& lowered, const RowPlan& plan, const std::vector<KernelFn>& functions,
         const std::vector<std::vector<cpu::BlockKernel>>& called, Inputs inputs, const Tensors& results);

  Slot& slot(std::int64_t row, int index) {
    return slots[static_cast<std::size_t>(row) * lowered.slots.size() + static_cast<std::size_t>(index)];
  }

 private:
  void take_draws();
  void open_gathers(Inputs inputs);
  Place place_of(const Load& load, const RowLoadPlan& how, Inputs inputs);
};

// Memory for what passes keep of one row: scratch of one thread, like that of eager kernels over rows.
class KeptRow {
 public:
  KeptRow(const Lowered& lowered, std::int64_t length);
  std::span<std::byte* const> places() const { return places_; }

 private:
  cpu::Scratch memory_;
  std::vector<std::byte*> places_;
};

// Likewise of all rows together, which counts as memory of tensors does.
class KeptRows {
 public:
  KeptRows(const Lowered& lowered, std::int64_t elements);
  std::span<std::byte* const> places() const { return places_; }

 private:
  std::vector<Ref<Buffer>> buffers_;
  std::vector<std::byte*> places_;
};

// One thread's part: elements [begin, end) of a row in one pass. What is the same for all rows is set up
// once: memory that was just written by halves and is read as a whole would stop the processor until all
// stores before are done.
class Worker {
 public:
  // `kept`: where what passes keep of row 0 begins; `kept_rows`: whether every row has its own.
  Worker(RowRun& run, std::span<std::byte* const> kept, bool kept_rows);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Lanes of the pass' reductions are there to be folded afterwards. Where rows follow each other in memory,
  // `end` may lie in a later one.
  void block(std::size_t pass, std::int64_t row, std::int64_t begin, std::int64_t end);
  Slot folded(std::size_t pass, std::size_t reduction);
  // A row, or what is asked for of it, through all passes. Only whole rows where passes reduce them. `next`
  // is how many rows further it will go on.
  void row(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t next = 1);
  // What columns are combined in: accumulators from element `begin` of the row on, by reduction.
  void take_columns(std::span<std::byte* const> accumulators, std::int64_t begin);

 private:
  using Vector = std::array<std::byte, kVector * 8>;
  // Where a load or store finds its elements, when these are as far apart for all rows.
  struct Straight {
    std::size_t place;
    std::byte* first;
    std::int64_t row, element;  // bytes from one to the next
  };
  static constexpr std::int64_t kFetched = 1024;  // elements ahead of those at hand, within a long row
  struct Pass {
    const LoopNest* nest = nullptr;
    const PassPlan* plan = nullptr;
    const std::vector<Generator>* draws = nullptr;
    std::span<const int> gather_of;
    const std::vector<RowRun::Place>* loads = nullptr;
    KernelFn function = nullptr;
    KernelCall call{};
    std::vector<const void*> places;  // of loads, then of stores, then of columns
    std::vector<Straight> straight;
    std::vector<std::size_t> other;    // loads that are not
    std::vector<std::size_t> per_row;  // stores of one element for each row
    std::vector<std::int64_t> moves;
    std::vector<Vector> spread;
    std::vector<std::vector<std::byte>> drawn;  // by load
    std::vector<Lanes> start;                   // never written again, see above
    std::vector<Lanes> lanes;
    std::vector<const LaneOps*> ops;
  };
  // Places that go on with the loop: calls f(place, bytes of an element, is written).
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
