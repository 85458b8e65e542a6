#include "jit/cpu/row_plan.h"

#include <algorithm>

#include "tensor/fixed_order.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

// Fewer elements are not worth a call.
constexpr std::int64_t kWorthACall = 2048;
// For rows shorter than this, loads with other layouts are copied, so that several rows can be one.
constexpr std::int64_t kShortRow = 64;

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

// Are all elements of the dimensions one? Are they contiguous (is_dense)? Loads that are neither are copied
// first.
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

RowLoadPlan plan_load(const Load& load, ShownLayout shown, const Dims& axes, std::size_t outer) {
  RowLoadPlan plan;
  plan.laid_out = std::move(shown.laid_out);
  Layout& layout = shown.layout;
  if (load.per_row) {
    // One element a row: strides along the rows alone, whether the layout keeps dimensions of size 1 or not.
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

// ---- Several rows as one ----

bool is_same_for_all(const RowLoadPlan& load) {
  return std::all_of(load.strides.begin(), load.strides.end(), [](Dim stride) { return stride == 0; });
}
bool follows_on(const RowLoadPlan& load, std::int64_t length) {
  if (load.constant) return is_same_for_all(load);
  return load.outer.empty() || (load.outer.size() == 1 && load.strides[0] == length);
}

// Repeats a load that is the same for all rows `count` times, as for so many rows in one.
void repeat(RowLoadPlan& load, std::int64_t count, std::size_t outer) {
  const auto joined = [outer](const Dims& of_all, Dim first) {
    Dims made{first};
    for (std::size_t d = outer; d < of_all.size(); ++d) made.push_back(of_all[d]);
    return made;
  };
  load.layout.sizes = joined(load.layout.sizes, count);
  load.layout.strides = joined(load.layout.strides, 0);
  load.copied = true;
  load.offset = 0;
}
void lay_out(RowLoadPlan& load, std::int64_t rows, std::int64_t length) {
  load.copied = true;
  load.constant = false;
  load.outer = {rows};
  load.strides = {length};
  load.offset = 0;
}

// Joins rows to longer ones, in kernels that reduce no row.
void join_rows(RowPlan& plan, const LoopNest& nest, std::size_t outer) {
  const std::int64_t wanted = kWorthACall / std::max<std::int64_t>(1, plan.length);
  const std::int64_t count = std::clamp<std::int64_t>(wanted, 1, kReductionLanes);
  const auto each_load = [&](auto&& f) {
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      if (!nest.loads[k].invariant) f(plan.passes[0].loads[k]);
    }
  };
  bool all_follow = count > 1;
  each_load([&](const RowLoadPlan& load) {
    all_follow =
        all_follow && (plan.length < kShortRow || follows_on(load, plan.length) || is_same_for_all(load));
  });
  if (!all_follow) return;
  plan.rows_at_once = count;
  each_load([&](RowLoadPlan& load) {
    if (follows_on(load, plan.length)) return;
    is_same_for_all(load) ? repeat(load, count, outer) : lay_out(load, plan.rows, plan.length);
  });
}

}  // namespace

bool goes_pass_by_pass(const RowPlan& plan) {
  return plan.rows < 4 * std::int64_t{num_threads()} && plan.length > 4 * kReductionBlock;
}

RowPlan plan_rows(const Lowered& lowered, std::vector<Layout> inputs, const Dims& symbols,
                  const SymbolValues& values) {
  RowPlan plan;
  plan.symbols = symbols;
  plan.inputs = std::move(inputs);
  for (const KernelOutput& each : lowered.outputs) plan.outputs.push_back(evaluate(each.sizes, values));
  const Dims axes = evaluate(lowered.passes[0].axes, values);
  const std::size_t outer = axes.size() - static_cast<std::size_t>(lowered.passes[0].row_rank);
  plan.columns = axes;
  for (std::size_t d = 0; d < axes.size(); ++d) (d < outer ? plan.rows : plan.length) *= axes[d];
  for (std::size_t d = outer - static_cast<std::size_t>(lowered.column_rank); d < outer; ++d) {
    plan.sequence *= axes[d];
    plan.columns[d] = 1;
  }
  for (const LoopNest& nest : lowered.row_passes()) {
    PassPlan& pass = plan.passes.emplace_back();
    for (const Dim each : nest.numbers) pass.numbers.push_back(evaluate(each, values));
    for (const Load& load : nest.loads) {
      if (load.input < 0) {
        RowLoadPlan& made = pass.loads.emplace_back();
        if (load.drawn != nullptr)
          made.distribution = load.drawn->lowering.as<lowering::Draw>()->distribution(
              evaluate(*load.drawn, load.attrs, values));
        if (load.gather != nullptr) made.gather = plan_gather(load, plan.inputs, values);
        continue;
      }
      ShownLayout shown = layout_of(load, plan.inputs[static_cast<std::size_t>(load.input)], values);
      pass.loads.push_back(plan_load(load, std::move(shown), axes, outer));
    }
  }
  if (lowered.slots.empty()) join_rows(plan, lowered.passes[0], outer);
  return plan;
}

}  // namespace kiln::jit
