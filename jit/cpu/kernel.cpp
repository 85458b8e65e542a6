#include "jit/cpu/kernel.h"

#include <algorithm>
#include <cstring>

#include "jit/cpu/elementwise_kernel.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/error.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kGrain = 1 << 16;  // elements per thread of a nest that does next to nothing

}  // namespace

void spread(std::byte* vector, const std::byte* element, std::int64_t item, std::int64_t from) {
  for (std::int64_t i = from; i < kVector; ++i)
    std::memcpy(vector + i * item, element, static_cast<std::size_t>(item));
}

std::int64_t grain_of(const LoopNest& nest) { return std::max<std::int64_t>(kGrain / cost_of(nest), kBlock); }

CpuKernel::CpuKernel(KernelParts parts) : Kernel(std::move(parts)) {
  if (schedule().vector != kVector)
    throw InternalError("the scalar functions have vectors of another length");
  for (void* const each : this->parts().functions) functions_.push_back(reinterpret_cast<KernelFn>(each));
  for (const LoopNest& nest : passes()) {
    std::vector<cpu::BlockKernel>& called = called_.emplace_back();
    for (const Instruction& step : nest.body) {
      called.push_back(step.kind == Instruction::Kind::Apply
                           ? cpu::kernel_table()
                                 .rows[step.op->pointwise->row]
                                 .block[static_cast<int>(cpu::element_of(step.compute))]
                           : nullptr);
    }
  }
}

std::unique_ptr<const Kernel> make_kernel(KernelParts parts) {
  if (parts.kernel.schedule.interleaves_rows) return make_tile_kernel(std::move(parts));
  if (parts.kernel.lowered.passes[0].row_rank > 0) return make_row_kernel(std::move(parts));
  return std::make_unique<const ElementwiseKernel>(std::move(parts));
}

}  // namespace kiln::jit
