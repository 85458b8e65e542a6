// Reductions down the columns combine rows lane by lane in the fixed order (docs/reductions.md): the rows of
// a block whose numbers are equal modulo the lanes are added up in one row of accumulators. Threads take
// units of work: some lanes of one block, or, where rows need not be whole, a tile of the columns.
#include "jit/cpu/kernel_columns.h"

#include <algorithm>
#include <cstring>

#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

// The bytes of accumulators, of all reductions together, that stay in a near cache.
constexpr std::int64_t kAccumulatorBytes = 1 << 15;
// Where units share the lanes of a block, the kernel allocates the accumulators: at most so many bytes, or a
// small part of the bytes that it reads.
constexpr std::int64_t kSharedBytes = 1 << 20;
constexpr std::int64_t kSharedPart = 16;
constexpr std::int64_t kColumnGrain = 4096;

struct Units {
  std::int64_t batches, blocks, tiles;
  std::int64_t tile;        // columns
  std::int64_t groups = 1;  // of lanes
  std::int64_t count() const { return batches * blocks * tiles * groups; }
};

std::int64_t item_of(const Reduction& reduction) {
  return static_cast<std::int64_t>(size_of(reduction.accumulator));
}

Units units_of(const RowRun& run) {
  const RowPlan& plan = run.plan;
  Units units{};
  units.batches =
      plan.sequence > 0 ? plan.rows / plan.sequence : count_elements(plan.columns).fixed() / plan.length;
  units.blocks = std::max<std::int64_t>(1, reduction_blocks(plan.sequence));
  const bool in_tiles = run.lowered.slots.empty() && plan.rows_at_once == 1;
  units.tile = in_tiles ? std::min(kColumnTile, plan.length) : plan.length;
  units.tiles = ceil_divide(plan.length, units.tile);
  units.groups = 1;
  std::int64_t item = 0;
  for (const Reduction& each : run.lowered.columns) item += item_of(each);
  const std::int64_t lanes = std::min<std::int64_t>(kReductionLanes, plan.sequence);
  const std::int64_t shared = units.batches * units.blocks * kReductionLanes * plan.length * item;
  const bool may_share = shared <= std::max(kSharedBytes, plan.rows * plan.length * item / kSharedPart);
  const auto wants_more = [&] {
    return units.count() < std::int64_t{4} * num_threads() ||
           kReductionLanes / units.groups * units.tile * item > kAccumulatorBytes;
  };
  while (may_share && units.groups < lanes && wants_more()) units.groups *= 2;
  return units;
}

class Columns {
 public:
  explicit Columns(RowRun& run) : run_(run), plan_(run.plan), units_(units_of(run)) {
    lanes_kept_ = units_.groups > 1 ? kReductionLanes : 1;
    const Dim sizes[] = {units_.batches, units_.blocks, lanes_kept_, plan_.length};
    for (const Reduction& each : run.lowered.columns) {
      partials_.push_back(Tensor::empty(sizes, each.accumulator, Device{}));
      memory_.push_back(partials_.back().raw_writable());
    }
  }

  Tensors run(std::int64_t grain) {
    const std::int64_t elements = std::max<std::int64_t>(1, plan_.rows * plan_.length / units_.count());
    parallel_for(units_.count(), std::max<std::int64_t>(1, grain / elements),
                 [this](std::int64_t begin, std::int64_t end) { Share(*this).run(begin, end); });
    if (lanes_kept_ > 1 || units_.blocks > 1) combine();
    return results();
  }

 private:
  const std::vector<Reduction>& reductions() const { return run_.lowered.columns; }
  // The accumulators of a block, of all its lanes or of their fold, from the first column on.
  std::byte* partial(std::size_t k, std::int64_t batch, std::int64_t block) const {
    return memory_[k] +
           (batch * units_.blocks + block) * lanes_kept_ * plan_.length * item_of(reductions()[k]);
  }
  std::int64_t rows_of(std::int64_t block) const {
    return std::clamp<std::int64_t>(plan_.sequence - block * kReductionBlock, 0, kReductionBlock);
  }
  // A block without rows has one lane, which stays empty.
  std::int64_t lanes_of(std::int64_t block) const {
    return std::clamp<std::int64_t>(rows_of(block), 1, kReductionLanes);
  }

  // The work of one thread.
  class Share {
   public:
    explicit Share(Columns& all)
        : all_(all), kept_(all.run_.lowered, all.plan_.length), worker_(all.run_, kept_.places(), false) {
      lanes_.resize(all.reductions().size());
      at_.resize(all.reductions().size());
      if (all.lanes_kept_ > 1) return;
      for (std::size_t k = 0; k < lanes_.size(); ++k) {
        own_.push_back(
            own_memory_.take<std::byte>(kReductionLanes * all.units_.tile * item_of(all.reductions()[k])));
      }
    }

    void run(std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) this->unit(unit);
    }

   private:
    void unit(std::int64_t number) {
      const Units& units = all_.units_;
      const std::int64_t column = number % units.tiles * units.tile;
      const std::int64_t group = number / units.tiles % units.groups;
      const std::int64_t block = number / units.tiles / units.groups % units.blocks;
      const std::int64_t batch = number / units.tiles / units.groups / units.blocks;
      const std::int64_t width = std::min(units.tile, all_.plan_.length - column);
      const std::int64_t share = kReductionLanes / units.groups;
      const std::int64_t first = group * share, last = std::min(first + share, all_.lanes_of(block));
      stride_ = own_.empty() ? all_.plan_.length : width;
      for (std::size_t k = 0; k < lanes_.size(); ++k) {
        const Reduction& each = all_.reductions()[k];
        lanes_[k] = own_.empty() ? all_.partial(k, batch, block) + column * item_of(each) : own_[k];
        for (std::int64_t lane = first; lane < last; ++lane)
          lane_ops(each).start_rows(lanes_[k] + lane * stride_ * item_of(each), width);
      }
      const std::int64_t rows = all_.rows_of(block);
      const std::int64_t row = batch * all_.plan_.sequence + block * kReductionBlock;
      for (std::int64_t turn = 0; turn < rows; turn += kReductionLanes)
        take_turn(row + turn, first, std::min(last, rows - turn), column, width);
      if (!own_.empty()) fold(batch, block, column, width);
    }

    // Adds one row to each lane, several rows at once where they are contiguous.
    void take_turn(std::int64_t row, std::int64_t first, std::int64_t last, std::int64_t column,
                   std::int64_t width) {
      for (std::int64_t lane = first; lane < last;) {
        const std::int64_t count = std::min(all_.plan_.rows_at_once, last - lane);
        for (std::size_t k = 0; k < lanes_.size(); ++k)
          at_[k] = lanes_[k] + lane * stride_ * item_of(all_.reductions()[k]);
        worker_.take_columns(at_, column);
        const bool is_last = lane + count == last;
        worker_.row(row + lane, column, column + width + (count - 1) * all_.plan_.length,
                    is_last ? first + kReductionLanes - lane : count);
        lane += count;
      }
    }

    void fold(std::int64_t batch, std::int64_t block, std::int64_t column, std::int64_t width) {
      for (std::size_t k = 0; k < lanes_.size(); ++k) {
        const Reduction& each = all_.reductions()[k];
        lane_ops(each).fold_rows(lanes_[k], all_.lanes_of(block), stride_, width);
        std::memcpy(all_.partial(k, batch, block) + column * item_of(each), lanes_[k],
                    static_cast<std::size_t>(width * item_of(each)));
      }
    }

    Columns& all_;
    KeptRow kept_;
    Worker worker_;
    cpu::Scratch own_memory_;
    std::vector<std::byte*> own_;  // accumulators, unless they are shared
    std::vector<std::byte*> lanes_, at_;
    std::int64_t stride_ = 0;
  };

  // Combines lanes, then blocks, into the first row of each batch.
  void combine() {
    const std::int64_t parts = ceil_divide(plan_.length, kColumnGrain);
    parallel_for(units_.batches * parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t batch = unit / parts, column = unit % parts * kColumnGrain;
        const std::int64_t width = std::min(kColumnGrain, plan_.length - column);
        for (std::size_t k = 0; k < memory_.size(); ++k) {
          const LaneOps& ops = lane_ops(reductions()[k]);
          const std::int64_t offset = column * item_of(reductions()[k]);
          for (std::int64_t block = 0; block < units_.blocks && lanes_kept_ > 1; ++block)
            ops.fold_rows(partial(k, batch, block) + offset, lanes_of(block), plan_.length, width);
          ops.tree_rows(partial(k, batch, 0) + offset, units_.blocks, lanes_kept_ * plan_.length, width);
        }
      }
    });
  }

  Tensors results() const {
    Layout layout{plan_.columns, contiguous_strides(plan_.columns), 0};
    const std::size_t batch_rank = layout.sizes.size() - run_.passes[0].row_rank - run_.lowered.column_rank;
    for (std::size_t d = 0; d < batch_rank; ++d) layout.strides[d] *= units_.blocks * lanes_kept_;
    Tensors made;
    for (const Tensor& each : partials_) made.push_back(Tensor::alias(each, layout));
    return made;
  }

  RowRun& run_;
  const RowPlan& plan_;
  Units units_;
  std::int64_t lanes_kept_;
  std::vector<Tensor> partials_;  // [batches, blocks, lanes kept, columns]
  std::vector<std::byte*> memory_;
};

// Runs the passes over rows without elements, whose reductions still have results.
void run_empty_rows(RowRun& run) {
  const KeptRow kept(run.lowered, 0);
  Worker worker(run, kept.places(), false);
  std::byte unused{};
  const std::vector<std::byte*> accumulators(run.lowered.columns.size(), &unused);
  worker.take_columns(accumulators, 0);
  for (std::int64_t row = 0; row < run.plan.rows; ++row) worker.row(row, 0, 0);
}

}  // namespace

Tensors run_columns(RowRun& run, std::int64_t grain) {
  if (count_elements(run.plan.columns) > 0) return Columns(run).run(grain);
  run_empty_rows(run);
  Tensors empty;
  for (const Reduction& each : run.lowered.columns)
    empty.push_back(Tensor::empty(run.plan.columns, each.accumulator, Device{}));
  return empty;
}

}  // namespace kiln::jit
