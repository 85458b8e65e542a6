#include "jit/cpu/schedule.h"

#include "jit/cpu/prefetch_rows.h"
#include "jit/cpu/row_interleaved.h"
#include "jit/cpu/streaming_stores.h"
#include "jit/cpu/unroll.h"
#include "jit/llvm/kernel_code.h"

namespace kiln::jit {
namespace {

bool has_short_rows(const Lowered& kernel, const SymbolValues& hints) {
  const LoopNest& first = kernel.passes.front();
  return kernel.columns.empty() &&
         jit::has_short_rows({first.axes, first.row_rank, kernel.column_rank}, hints, kInterleavedRow);
}

void hoist_loads(ScheduledKernel& kernel) {
  for (std::size_t p = 0; p < kernel.lowered.passes.size(); ++p) {
    const std::vector<Load>& loads = kernel.lowered.passes[p].loads;
    for (std::size_t k = 0; k < loads.size(); ++k)
      kernel.schedule.nests[p].loads[k].hoisted = loads[k].loop_invariant;
  }
}

}  // namespace

ScheduledKernel schedule_for_cpu(Lowered kernel, const KernelUse& use) {
  if (has_short_rows(kernel, use.hints)) return interleave_rows(std::move(kernel));
  Schedule plain = plain_schedule(kernel.passes, kVector);
  ScheduledKernel made{std::move(kernel), std::move(plain)};
  hoist_loads(made);
  if (made.lowered.passes.front().row_rank > 0) {
    prefetch_rows(made);
  } else {
    NestSchedule& nest = made.schedule.nests.front();
    nest.unroll = unroll_factor(made.lowered.passes.front(), nest, cpu::isa());
  }
  mark_streaming_stores(made, use);
  return made;
}

}  // namespace kiln::jit
