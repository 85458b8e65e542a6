#include "jit/loops/kernel.h"

#include <algorithm>
#include <bit>

#include "tensor/error.h"

namespace kiln::jit {

SymbolValues Kernel::named(const Dims& symbols) const {
  SymbolValues values;
  for (std::size_t i = 0; i < parts_.symbols.size(); ++i) values.emplace(parts_.symbols[i], symbols[i]);
  return values;
}

std::vector<TensorType> Kernel::types(const Dims& symbols) const {
  const SymbolValues values = named(symbols);
  std::vector<TensorType> types;
  for (const KernelOutput& each : lowered().outputs)
    types.push_back({each.dtype, parts_.device, evaluate(each.sizes, values)});
  return types;
}

void Kernel::fail(const LoopNest& nest, std::uint64_t failed) {
  const int first = std::countr_zero(failed);
  const auto step = std::find_if(nest.body.begin(), nest.body.end(),
                                 [first](const Instruction& each) { return each.failure == first; });
  throw OpError(ErrorKind::Value, step->message, {1});
}

}  // namespace kiln::jit
