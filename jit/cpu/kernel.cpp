#include "jit/cpu/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/cpu/elementwise_kernel.h"
#include "tensor/cpu/elementwise/elementwise.h"
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

Kernel::Kernel(Lowered lowered, std::vector<KernelFn> functions, std::shared_ptr<void> code,
               std::vector<std::string> symbols)
    : lowered_(std::move(lowered)),
      functions_(std::move(functions)),
      code_(std::move(code)),
      symbols_(std::move(symbols)) {
  for (const LoopNest& nest : lowered_.passes) {
    std::vector<cpu::BlockKernel>& called = called_.emplace_back();
    for (const Instruction& step : nest.body) {
      called.push_back(step.kind == Instruction::Kind::Apply
                           ? cpu::kernel_table()
                                 .rows[step.op->pointwise->row]
                                 .block[static_cast<int>(cpu::element_of(step.compute))][0]
                           : nullptr);
    }
  }
}

SymbolValues Kernel::named(const Dims& symbols) const {
  SymbolValues values;
  for (std::size_t i = 0; i < symbols_.size(); ++i) values.emplace(symbols_[i], symbols[i]);
  return values;
}

std::vector<TensorType> Kernel::types(const Dims& symbols) const {
  const SymbolValues values = named(symbols);
  std::vector<TensorType> types;
  for (const KernelOutput& each : lowered_.outputs)
    types.push_back({each.dtype, Device{}, evaluate(each.sizes, values)});
  return types;
}

void Kernel::fail(const LoopNest& nest, std::uint64_t failed) const {
  const int first = std::countr_zero(failed);
  const auto step = std::find_if(nest.body.begin(), nest.body.end(),
                                 [first](const Instruction& each) { return each.failure == first; });
  throw OpError(ErrorKind::Value, step->message, {1});
}

std::unique_ptr<const Kernel> make_kernel(Lowered lowered, std::vector<KernelFn> functions,
                                          std::shared_ptr<void> code, std::vector<std::string> symbols) {
  if (lowered.passes[0].row_interleaved)
    return make_tile_kernel(std::move(lowered), std::move(functions), std::move(code), std::move(symbols));
  if (lowered.passes[0].row_rank > 0)
    return make_row_kernel(std::move(lowered), std::move(functions), std::move(code), std::move(symbols));
  return std::make_unique<const ElementwiseKernel>(std::move(lowered), std::move(functions), std::move(code),
                                                   std::move(symbols));
}

}  // namespace kiln::jit
