// From layouts and index maps to strides along as few axes as can be.
#include <algorithm>

#include "jit/kernel.h"

namespace kiln::jit {
namespace {

using Access = KernelPlan::LoadPlan::Access;

constexpr Dim kLongRow = 64;
// From here on, a load with a stride along the last axis costs more than to copy it in tiles first.
constexpr std::int64_t kWorthCopying = 1 << 14;

// Merges axes that every load steps through as the outputs do.
void simplify(KernelPlan& plan, const Dims& strides_of_output) {
  Dims axes, output;
  std::vector<Dims> strides(plan.loads.size());
  for (std::size_t d = 0; d < plan.sizes.size(); ++d) {
    const Dim size = plan.sizes[d];
    if (size == 1) continue;
    bool merges = !axes.empty() && output.back() == strides_of_output[d] * size;
    for (std::size_t k = 0; merges && k < strides.size(); ++k) {
      merges = strides[k].back() == plan.loads[k].strides[d] * size;
    }
    if (merges) {
      axes.back() *= size;
      output.back() = strides_of_output[d];
      for (std::size_t k = 0; k < strides.size(); ++k) strides[k].back() = plan.loads[k].strides[d];
    } else {
      axes.push_back(size);
      output.push_back(strides_of_output[d]);
      for (std::size_t k = 0; k < strides.size(); ++k) strides[k].push_back(plan.loads[k].strides[d]);
    }
  }
  if (axes.empty()) {
    axes.push_back(1);
    for (Dims& each : strides) each.push_back(1);
  }
  plan.axes = std::move(axes);
  for (std::size_t k = 0; k < strides.size(); ++k) plan.loads[k].strides = std::move(strides[k]);
}

Access access_of(const Dims& axes, const Dims& strides) {
  if (std::all_of(strides.begin(), strides.end(), [](Dim s) { return s == 0; })) return Access::Constant;
  return strides == contiguous_strides(axes) ? Access::Direct : Access::Strided;
}

}  // namespace

Layout layout_of(const Load& load, Layout layout, const SymbolValues& values) {
  for (std::size_t i = 0; i < load.steps.size(); ++i) {
    const IndexStep& step = load.steps[i];
    if (step.view != nullptr) {
      layout = step.view->view(
          layout, evaluate(*step.view, step.attrs, values))[static_cast<std::size_t>(step.output)];
    } else if (i + 1 < load.steps.size()) {
      layout = broadcast_layout(layout, evaluate(step.sizes, values));
    }
  }
  return layout;
}

KernelPlan make_plan(const LoopNest& nest, Inputs inputs, const Dims& symbols, const SymbolValues& values) {
  KernelPlan plan;
  plan.symbols = symbols;
  for (const Tensor& each : inputs) plan.inputs.push_back(each.layout());
  plan.sizes = evaluate(nest.axes, values);
  for (const Size& each : nest.numbers) plan.numbers.push_back(each.evaluate(values));
  const std::int64_t numel = count_elements(plan.sizes);
  for (const Load& load : nest.loads) {
    KernelPlan::LoadPlan made;
    made.layout = layout_of(load, plan.inputs[static_cast<std::size_t>(load.input)], values);
    const bool across = made.layout.sizes == plan.sizes && numel >= kWorthCopying && plan.sizes.back() > 1 &&
                        made.layout.strides.back() > 1;
    made.copied = across;
    made.offset = across ? 0 : made.layout.offset;
    Layout read = made.layout;
    if (across) read.strides = contiguous_strides(read.sizes);
    made.strides = broadcast_layout(read, plan.sizes).strides;
    for (std::size_t d = 0; d < plan.sizes.size(); ++d) {
      if (plan.sizes[d] == 1) made.strides[d] = 0;
    }
    plan.loads.push_back(std::move(made));
  }
  simplify(plan, contiguous_strides(plan.sizes));
  plan.all_direct = true;
  for (auto& load : plan.loads) {
    load.access = access_of(plan.axes, load.strides);
    plan.all_direct = plan.all_direct && load.access != Access::Strided;
  }
  plan.by_rows = plan.axes.back() >= kLongRow;
  return plan;
}

}  // namespace kiln::jit
