// Plans a call: turns layouts and index maps into strides along as few axes as possible.
#include <algorithm>
#include <optional>

#include "jit/cpu/kernel.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/error.h"

namespace kiln::jit {
namespace {

using Access = KernelPlan::LoadPlan::Access;

constexpr Dim kShortestRow = 16;  // worth a call each, where only addresses change between calls
// From so many elements on, copying a load in tiles first costs less than reading it with a stride.
constexpr std::int64_t kWorthCopying = 1 << 14;

bool goes_by_steps(const NestSchedule& schedule, const KernelPlan& plan) {
  if (plan.axes.size() < 2 || plan.all_direct) return false;
  for (std::size_t k = 0; k < plan.loads.size(); ++k) {
    const Access access = plan.loads[k].access;
    if (access == Access::Drawn || access == Access::Gathered) return false;
    if (access != Access::Strided) continue;
    const Dim stride = plan.loads[k].strides.back();
    if (stride != 1 && !(stride == 0 && schedule.loads[k].hoisted)) return false;
  }
  return std::all_of(plan.stores.begin(), plan.stores.end(),
                     [](const auto& store) { return store.strides.back() == 1; });
}

// Merges axes that all loads and stores step through as one.
void simplify(KernelPlan& plan) {
  std::vector<IntDims*> all;
  for (KernelPlan::LoadPlan& each : plan.loads) all.push_back(&each.strides);
  for (KernelPlan::StorePlan& each : plan.stores) all.push_back(&each.strides);
  IntDims axes;
  std::vector<IntDims> merged(all.size());
  for (std::size_t d = 0; d < plan.sizes.size(); ++d) {
    const std::int64_t size = plan.sizes[d];
    if (size == 1) continue;
    bool merges = !axes.empty();
    for (std::size_t k = 0; merges && k < all.size(); ++k) merges = merged[k].back() == (*all[k])[d] * size;
    if (merges) {
      axes.back() *= size;
      for (std::size_t k = 0; k < all.size(); ++k) merged[k].back() = (*all[k])[d];
    } else {
      axes.push_back(size);
      for (std::size_t k = 0; k < all.size(); ++k) merged[k].push_back((*all[k])[d]);
    }
  }
  if (axes.empty()) {
    axes.push_back(1);
    for (IntDims& each : merged) each.push_back(1);
  }
  plan.axes = std::move(axes);
  for (std::size_t k = 0; k < all.size(); ++k) *all[k] = std::move(merged[k]);
}

Access access_of(const Dims& axes, const Dims& strides) {
  if (std::all_of(strides.begin(), strides.end(), [](Dim s) { return s == 0; })) return Access::Constant;
  return strides == contiguous_strides(axes) ? Access::Direct : Access::Strided;
}

}  // namespace

Tensor laid_out(const Tensor& input, std::span<const Layout> layouts) {
  Tensor made = input;
  for (const Layout& each : layouts) made = cpu::contiguous_copy(Tensor::alias(made, each), made.dtype());
  return made;
}

std::vector<Layout> layouts_of(Inputs inputs) {
  std::vector<Layout> layouts;
  for (const Tensor& each : inputs) layouts.push_back(each.layout());
  return layouts;
}

KernelPlan make_plan(const ScheduledNest& scheduled, std::vector<Layout> inputs, const Dims& symbols,
                     const SymbolValues& values) {
  const LoopNest& nest = *scheduled.nest;
  KernelPlan plan;
  plan.symbols = symbols;
  plan.inputs = std::move(inputs);
  plan.sizes = evaluate(nest.axes, values);
  for (const Dim each : nest.numbers) plan.numbers.push_back(evaluate(each, values));
  const std::int64_t numel = count_elements(plan.sizes);
  for (const Load& load : nest.loads) {
    KernelPlan::LoadPlan made;
    if (load.drawn != nullptr) {
      made.distribution =
          load.drawn->lowering.as<lowering::Draw>()->distribution(evaluate(*load.drawn, load.attrs, values));
      made.strides = contiguous_strides(plan.sizes);
      plan.loads.push_back(std::move(made));
      continue;
    }
    if (load.gather != nullptr) {
      made.gather = plan_gather(load, plan.inputs, values);
      made.strides = contiguous_strides(plan.sizes);
      plan.loads.push_back(std::move(made));
      continue;
    }
    ShownLayout shown = layout_of(load, plan.inputs[static_cast<std::size_t>(load.input)], values);
    made.laid_out = std::move(shown.laid_out);
    made.layout = std::move(shown.layout);
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
  for (const Store& store : nest.stores)
    plan.stores.push_back({places_of(store, plan.sizes, plan.inputs, values), true});
  simplify(plan);
  plan.all_direct = true;
  for (auto& store : plan.stores) {
    store.is_direct = store.strides == contiguous_strides(plan.axes);
    plan.all_direct = plan.all_direct && store.is_direct;
  }
  for (std::size_t k = 0; k < plan.loads.size(); ++k) {
    KernelPlan::LoadPlan& load = plan.loads[k];
    load.access = nest.loads[k].drawn != nullptr    ? Access::Drawn
                  : nest.loads[k].gather != nullptr ? Access::Gathered
                                                    : access_of(plan.axes, load.strides);
    plan.all_direct = plan.all_direct && (load.access == Access::Direct || load.access == Access::Constant);
  }
  plan.by_steps = goes_by_steps(*scheduled.schedule, plan);
  plan.by_rows = plan.axes.back() >= (plan.by_steps ? kShortestRow : Dim(kLongRow));
  return plan;
}

}  // namespace kiln::jit
