// Gather loads: elements that an op selects from tensors in memory. The operands are views of kernel inputs.
#include "jit/cpu/kernel.h"
#include "tensor/cpu/backend.h"
#include "tensor/cpu/moves/gather_reader.h"

namespace kiln::jit {

GatherPlan plan_gather(const Load& load, std::span<const Layout> inputs, const SymbolValues& values) {
  GatherPlan plan{{}, evaluate(*load.gather, load.attrs, values)};
  for (const Load& each : load.operands) {
    const bool is_there = each.input >= 0;
    plan.operands.push_back(is_there ? layout_of(each, inputs[static_cast<std::size_t>(each.input)], values)
                                     : ShownLayout());
  }
  return plan;
}

std::unique_ptr<const cpu::GatherReader> open_gather(const Load& load, const GatherPlan& plan,
                                                     Inputs inputs) {
  Tensors operands;
  for (std::size_t k = 0; k < load.operands.size(); ++k) {
    Tensor& operand = operands.emplace_back();
    if (load.operands[k].input < 0) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(load.operands[k].input)];
    input.check_readable();
    operand = Tensor::alias(laid_out(input, plan.operands[k].laid_out), plan.operands[k].layout);
  }
  return cpu::column().reader_of(*load.gather)(operands, plan.attrs);
}

}  // namespace kiln::jit
