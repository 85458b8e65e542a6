// Running kernels with reductions: all passes over one row after another while the row is in cache, or, where
// there are few long rows, pass by pass with blocks shared among threads. Either way elements are combined in
// the fixed order (docs/reductions.md).
#include <algorithm>
#include <limits>

#include "jit/cpu/kernel_columns.h"
#include "jit/cpu/row_worker.h"
#include "jit/cpu/streaming_stores.h"
#include "jit/loops/recent_plans.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

// Takes each row through all passes.
void row_by_row(RowRun& run, std::int64_t grain) {
  const std::int64_t length = run.plan.length;
  parallel_for(run.plan.rows, std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, length)),
               [&run, length](std::int64_t begin, std::int64_t end) {
                 const KeptRow kept(run.lowered, length);
                 Worker worker(run, kept.places(), false);
                 for (std::int64_t row = begin; row < end; ++row) worker.row(row, 0, length);
               });
}

// Takes all blocks of all rows through each pass.
void pass_by_pass(RowRun& run, std::int64_t grain) {
  const std::int64_t length = run.plan.length, per_row = reduction_blocks(length);
  const std::int64_t units = run.plan.rows * per_row;
  const KeptRows kept(run.lowered, run.plan.rows * length);
  for (std::size_t p = 0; p < run.passes.size(); ++p) {
    const LoopNest& nest = run.passes[p];
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

class RowKernel final : public CpuKernel {
 public:
  explicit RowKernel(KernelParts parts) : CpuKernel(std::move(parts)) {
    for (const LoopNest& nest : lowered().row_passes()) grain_ = std::min(grain_, grain_of(nest));
    if (!lowered().columns.empty()) on_columns_ = make_kernel(of_columns());
  }

  Tensors run(Inputs inputs, const Dims& symbols) const override {
    const auto plan = plans_.get(
        inputs, symbols, [&] { return plan_rows(lowered(), layouts_of(inputs), symbols, named(symbols)); });
    Tensors outputs;
    outputs.resize(plan->outputs.size());
    for (const LoopNest& nest : lowered().row_passes()) {
      for (const Store& each : nest.stores) {
        const auto k = static_cast<std::size_t>(each.output);
        if (each.output >= 0)
          outputs[k] = Tensor::empty(plan->outputs[k], lowered().outputs[k].dtype, Device{});
      }
    }
    RowRun run(lowered(), schedule(), *plan, functions_, called_, inputs, outputs);
    if (plan->rows == 0 && !on_columns_) return outputs;
    run.streaming = uses_streaming_stores(lowered(), schedule(), outputs);
    const Tensors columns = run_passes(run);
    for (std::size_t p = 0; p < run.passes.size(); ++p) {
      if (const std::uint64_t found = run.failed[p].load()) fail(lowered().passes[p], found);
    }
    if (on_columns_) finish_columns(*plan, inputs, columns, symbols, outputs);
    return outputs;
  }

 private:
  // The last nest as a kernel whose inputs are those of this one, then the results of the columns.
  KernelParts of_columns() const {
    KernelParts made{{}, {parts().functions.back()}, parts().code, parts().symbols, parts().device};
    LoopNest& nest = made.kernel.lowered.passes.emplace_back(lowered().passes.back());
    for (Load& each : nest.loads) {
      if (each.column >= 0) each.input = static_cast<int>(lowered().inputs.size()) + each.column;
    }
    made.kernel.schedule = {schedule().vector, false, {schedule().nests.back()}};
    return made;
  }
  Tensors run_passes(RowRun& run) const {
    if (on_columns_) return run_columns(run, grain_);
    goes_pass_by_pass(run.plan) ? pass_by_pass(run, grain_) : row_by_row(run, grain_);
    return {};
  }
  void finish_columns(const RowPlan& plan, Inputs inputs, const Tensors& columns, const Dims& symbols,
                      Tensors& outputs) const {
    Tensors given(inputs.begin(), inputs.end());
    for (const Tensor& each : columns) given.push_back(each);
    const Tensors made = on_columns_->run(given, symbols);
    const std::vector<Store>& stores = lowered().passes.back().stores;
    for (std::size_t k = 0; k < stores.size(); ++k) {
      const auto output = static_cast<std::size_t>(stores[k].output);
      outputs[output] = cpu::with_sizes(made[k], plan.outputs[output]);
    }
  }

  std::unique_ptr<const Kernel> on_columns_;
  std::int64_t grain_ = std::numeric_limits<std::int64_t>::max();
  RecentPlans<RowPlan> plans_;
};

}  // namespace

std::unique_ptr<const Kernel> make_row_kernel(KernelParts parts) {
  return std::make_unique<const RowKernel>(std::move(parts));
}

}  // namespace kiln::jit
