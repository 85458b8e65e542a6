#include "jit/cpu/kernel_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/cpu/kernel.h"
#include "jit/cpu/row_plan.h"
#include "jit/graph/layouts.h"

namespace kiln::jit {
namespace {

using Access = KernelPlan::LoadPlan::Access;

bool is_cpu_kernel(const Op& op) {
  return dynamic_cast<const CpuKernel*>(as_kernel(op)->kernel.get()) != nullptr;
}

// ---- Where elements are read and written ----

std::vector<Layout> layouts_of_inputs(const FusedKernel& kernel) {
  const std::vector<int> producers = kernel.source->producers();
  std::vector<Layout> layouts;
  for (const ValueId id : kernel.lowered->inputs)
    layouts.push_back(layout_of(*kernel.source, producers, id, kernel.source->hints));
  return layouts;
}

std::string in_blocks(std::string_view done) { return fmt::format("{} in blocks of {}", done, kBlock); }

std::string load_note(const KernelPlan& plan, const KernelPlan::LoadPlan& load) {
  if (load.copied) return "copied in tiles first";
  if (!load.laid_out.empty()) return "laid out anew first";
  if (load.access == Access::Drawn) return in_blocks("drawn");
  if (load.access == Access::Gathered) return in_blocks("picked");
  const bool by_elements = !plan.by_rows || (load.access == Access::Strided && load.strides.back() > 1);
  return load.access == Access::Strided && by_elements ? in_blocks("gathered") : "";
}

void note_elements(const FusedKernel& kernel, KernelNotes& notes) {
  const LoopNest& nest = kernel.lowered->passes[0];
  const KernelPlan plan =
      make_plan({&nest, &kernel.schedule->nests[0]}, layouts_of_inputs(kernel), {}, kernel.source->hints);
  for (const KernelPlan::LoadPlan& each : plan.loads) notes.loads[0].push_back(load_note(plan, each));
  for (const KernelPlan::StorePlan& each : plan.stores) {
    const bool by_elements = !plan.by_rows || each.strides.back() > 1;
    notes.stores[0].push_back(each.is_direct || !by_elements ? "" : in_blocks("scattered"));
  }
}

void note_rows(const FusedKernel& kernel, KernelNotes& notes) {
  const Lowered& lowered = *kernel.lowered;
  const RowPlan plan = plan_rows(lowered, layouts_of_inputs(kernel), {}, kernel.source->hints);
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    for (const RowLoadPlan& each : plan.passes[p].loads)
      notes.loads[p].push_back(each.copied || !each.laid_out.empty() ? "laid out anew first" : "");
  }
  if (kernel.schedule->interleaves_rows) return;
  if (!lowered.columns.empty()) {
    const bool in_tiles = lowered.slots.empty() && plan.rows_at_once == 1;
    notes.shared +=
        fmt::format(", blocks of {} rows{}{}", kReductionBlock,
                    in_tiles ? fmt::format(", tiles of {} columns", kColumnTile) : "",
                    plan.rows_at_once > 1 ? fmt::format(", {} rows as one", plan.rows_at_once) : "");
  } else if (goes_pass_by_pass(plan)) {
    notes.shared = fmt::format("pass by pass, blocks of {} in threads", kReductionBlock);
  }
}

}  // namespace

void note_kernels(const Graph& fused, std::span<KernelNotes> notes) {
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!is_cpu_kernel(*kernels[k].op)) continue;
    notes[k].shared = "in threads";
    kernels[k].lowered->passes[0].row_rank > 0 ? note_rows(kernels[k], notes[k])
                                               : note_elements(kernels[k], notes[k]);
  }
}

}  // namespace kiln::jit
