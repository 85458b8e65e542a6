// Loads of what ops pick from tensors in memory: the operands are views of the kernel's inputs.
#include "jit/kernel.h"
#include "tensor/cpu/picked.h"

namespace kiln::jit {

PickPlan plan_pick(const Load& load, std::span<const Layout> inputs, const SymbolValues& values) {
  PickPlan plan{{}, evaluate(*load.picked, load.attrs, values)};
  for (const Load& each : load.operands) {
    const bool is_there = each.input >= 0;
    plan.operands.push_back(is_there ? layout_of(each, inputs[static_cast<std::size_t>(each.input)], values)
                                     : ShownLayout());
  }
  return plan;
}

std::unique_ptr<const cpu::Picked> open_pick(const Load& load, const PickPlan& plan, Inputs inputs) {
  Tensors operands;
  for (std::size_t k = 0; k < load.operands.size(); ++k) {
    Tensor& operand = operands.emplace_back();
    if (load.operands[k].input < 0) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(load.operands[k].input)];
    input.check_readable();
    operand = Tensor::alias(laid_out(input, plan.operands[k].laid_out), plan.operands[k].layout);
  }
  return load.picked->lowering.as<lowering::Gather>()->pick(operands, plan.attrs);
}

}  // namespace kiln::jit
