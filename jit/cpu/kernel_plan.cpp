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

// ---- Stores that replace part of a tensor ----

Layout contiguous(Dims sizes) {
  Layout layout{std::move(sizes), {}, 0};
  layout.strides = contiguous_strides(layout.sizes);
  return layout;
}

// Elements [begin, end) of one dimension.
Layout piece(Layout layout, std::size_t dim, Dim begin, Dim end) {
  layout.offset += begin * layout.strides[dim];
  layout.sizes[dim] = end - begin;
  return layout;
}

// A region of contiguous memory as one range of each dimension; nullopt when it is no such box.
std::optional<std::vector<std::pair<Dim, Dim>>> box_of(const Layout& whole, const Layout& region) {
  std::vector<std::pair<Dim, Dim>> box;
  Dim rest = region.offset;
  for (std::size_t d = 0; d < whole.sizes.size(); ++d) {
    box.emplace_back(rest / whole.strides[d], rest / whole.strides[d] + 1);
    rest %= whole.strides[d];
  }
  for (std::size_t r = 0; r < region.sizes.size(); ++r) {
    if (region.sizes[r] == 1) continue;
    std::size_t d = 0;
    while (d < box.size() && (whole.sizes[d] == 1 || whole.strides[d] != region.strides[r])) ++d;
    if (d == box.size() || box[d].second != box[d].first + 1) return std::nullopt;
    box[d].second = box[d].first + region.sizes[r];
    if (box[d].second > whole.sizes[d]) return std::nullopt;
  }
  return box;
}

// The copies of the elements around the region, from the tensor that has them.
std::vector<KernelPlan::Copy> copies_around(int input, Layout from, Layout whole, const Layout& region) {
  if (count_elements(whole.sizes) == 0) return {};
  const auto box = count_elements(region.sizes) == 0 ? std::nullopt : box_of(whole, region);
  if (!box) return {{input, std::move(from), std::move(whole)}};
  std::vector<KernelPlan::Copy> copies;
  for (std::size_t d = 0; d < box->size(); ++d) {
    const auto [begin, end] = (*box)[d];
    const auto add = [&](Dim first, Dim last) {
      if (first < last) copies.push_back({input, piece(from, d, first, last), piece(whole, d, first, last)});
    };
    add(0, begin);
    add(end, whole.sizes[d]);
    from = piece(std::move(from), d, begin, end);
    whole = piece(std::move(whole), d, begin, end);
  }
  return copies;
}

KernelPlan::StorePlan plan_store(const Store& store, const KernelPlan& plan, const SymbolValues& values) {
  KernelPlan::StorePlan made;
  if (store.around.empty()) {
    made.sizes = plan.sizes;
    made.strides = contiguous_strides(plan.sizes);
    return made;
  }
  struct Place {
    int input;
    Layout from, to;
  };
  std::vector<Place> places;
  bool one_tensor = true;  // the elements around an inner view are that view of those around the outer one
  Layout to, seen;
  for (const ReplacedView& each : store.around) {
    ShownLayout shown = layout_of(each.of, plan.inputs[static_cast<std::size_t>(each.of.input)], values);
    if (!shown.laid_out.empty()) throw InternalError("what lies around a store is no view of its tensor");
    Layout from = std::move(shown.layout);
    if (places.empty()) {
      made.sizes = from.sizes;
      to = contiguous(from.sizes);
    } else {
      one_tensor = one_tensor && each.of.input == places[0].input && from == seen;
    }
    const Attrs attrs = evaluate(*each.view.view, each.view.attrs, values);
    seen = each.view.view->view(from, attrs).front();
    places.push_back({each.of.input, std::move(from), to});
    to = each.view.view->view(to, attrs).front();
  }
  if (one_tensor) {
    made.around = copies_around(places[0].input, places[0].from, places[0].to, to);
  } else {
    for (Place& each : places) made.around.push_back({each.input, std::move(each.from), std::move(each.to)});
  }
  made.offset = to.offset;
  made.strides = to.strides;
  return made;
}

Access access_of(const Dims& axes, const Dims& strides) {
  if (std::all_of(strides.begin(), strides.end(), [](Dim s) { return s == 0; })) return Access::Constant;
  return strides == contiguous_strides(axes) ? Access::Direct : Access::Strided;
}

}  // namespace

ShownLayout layout_of(const Load& load, Layout layout, const SymbolValues& values) {
  ShownLayout shown{{}, std::move(layout)};
  const auto view = [&](const IndexStep& step) {
    const Attrs attrs = evaluate(*step.view, step.attrs, values);
    return step.view->view(shown.layout, attrs)[static_cast<std::size_t>(step.output)];
  };
  for (std::size_t i = 0; i < load.steps.size(); ++i) {
    const IndexStep& step = load.steps[i];
    if (step.view == nullptr) {
      if (i + 1 < load.steps.size())
        shown.layout = broadcast_layout(shown.layout, evaluate(step.sizes, values));
      continue;
    }
    try {
      shown.layout = view(step);
    } catch (const OpError&) {
      shown.laid_out.push_back(shown.layout);
      shown.layout = contiguous(shown.layout.sizes);
      shown.layout = view(step);
    }
  }
  return shown;
}

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
  for (const Store& store : nest.stores) plan.stores.push_back(plan_store(store, plan, values));
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
