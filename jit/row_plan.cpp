#include "jit/row_plan.h"

#include "jit/kernel.h"

namespace kiln::jit {
namespace {

void merge_outer(RowLoadPlan& load, std::span<const Dim> sizes, std::span<const Dim> strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!load.outer.empty() && load.strides.back() == strides[d] * sizes[d]) {
      load.outer.back() *= sizes[d];
      load.strides.back() = strides[d];
    } else {
      load.outer.push_back(sizes[d]);
      load.strides.push_back(strides[d]);
    }
  }
}

// Are the elements of the dimensions one and the same, or one after the other? Else they are copied first.
bool is_constant(std::span<const Dim> sizes, std::span<const Dim> strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && strides[d] != 0) return false;
  }
  return true;
}
bool is_dense(std::span<const Dim> sizes, std::span<const Dim> strides) {
  Dim expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

RowLoadPlan plan_load(const Load& load, Layout layout, const Dims& axes, std::size_t outer) {
  RowLoadPlan plan;
  if (load.per_row) {
    // Along the rows alone, whether dimensions of size 1 are kept or not.
    plan.layout = layout;
    layout.sizes.resize(outer);
    layout.strides.resize(outer);
    merge_outer(plan, layout.sizes, layout.strides);
    plan.offset = layout.offset;
    return plan;
  }
  plan.layout = broadcast_layout(layout, axes);
  std::span<const Dim> strides = plan.layout.strides;
  const std::span<const Dim> sizes = axes;
  plan.constant = is_constant(sizes.subspan(outer), strides.subspan(outer));
  plan.copied = !plan.constant && !is_dense(sizes.subspan(outer), strides.subspan(outer));
  const Dims dense = contiguous_strides(axes);
  if (plan.copied) strides = dense;
  merge_outer(plan, sizes.first(outer), strides.first(outer));
  plan.offset = plan.copied ? 0 : plan.layout.offset;
  return plan;
}

}  // namespace

RowPlan plan_rows(const Lowered& lowered, Inputs inputs, const Dims& symbols, const SymbolValues& values) {
  RowPlan plan;
  plan.symbols = symbols;
  for (const Tensor& each : inputs) plan.inputs.push_back(each.layout());
  for (const KernelOutput& each : lowered.outputs) plan.outputs.push_back(evaluate(each.sizes, values));
  const Dims axes = evaluate(lowered.passes[0].axes, values);
  const std::size_t outer = axes.size() - static_cast<std::size_t>(lowered.passes[0].row_rank);
  for (std::size_t d = 0; d < axes.size(); ++d) (d < outer ? plan.rows : plan.length) *= axes[d];
  for (const LoopNest& nest : lowered.passes) {
    PassPlan& pass = plan.passes.emplace_back();
    for (const Size& each : nest.numbers) pass.numbers.push_back(each.evaluate(values));
    for (const Load& load : nest.loads) {
      if (load.buffer >= 0) {
        pass.loads.emplace_back();
        continue;
      }
      const Layout given = layout_of(load, plan.inputs[static_cast<std::size_t>(load.input)], values);
      pass.loads.push_back(plan_load(load, given, axes, outer));
    }
  }
  return plan;
}

}  // namespace kiln::jit
