#include "jit/cuda/plan.h"

#include <algorithm>

#include "jit/cuda/nest_words.h"
#include "tensor/cuda/draws.h"
#include "tensor/error.h"
#include "tensor/fixed_order.h"

namespace kiln::jit {
namespace {

// Of a layout that is broadcast to the axes, or that has one element for each row.
IntDims strides_along(const Layout& layout, const Dims& axes, std::size_t row_axes, bool per_row) {
  if (!per_row) {
    const Layout all = broadcast_layout(layout, axes);
    IntDims strides = IntDims(all.strides);
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (same(axes[d], 1)) strides[d] = 0;
    return strides;
  }
  // Along the rows alone, whether the layout keeps dimensions of size 1 or not.
  IntDims strides(axes.size(), 0);
  for (std::size_t d = 0; d < row_axes; ++d)
    strides[d] = same(layout.sizes[d], 1) ? 0 : layout.strides[d].fixed();
  return strides;
}

// Nests over the same axes.
class Planner {
 public:
  Planner(const LoopNest& first, Inputs inputs, CudaPlan& plan, const SymbolValues& values)
      : inputs_(inputs), plan_(plan), values_(values), axes_(evaluate(first.axes, values)) {
    row_axes_ = first.row_rank > 0 ? axes_.size() - static_cast<std::size_t>(first.row_rank) : 0;
    for (std::size_t d = 0; d < axes_.size(); ++d) (d < row_axes_ ? rows_ : length_) *= axes_[d].fixed();
  }

  // Sizes that launches go by.
  void put_sizes(int column_rank) {
    plan_.rows = rows_;
    plan_.length = length_;
    plan_.blocks = blocks();
    for (std::size_t d = 0; d < row_axes_; ++d)
      (d + static_cast<std::size_t>(column_rank) < row_axes_ ? plan_.sequences : plan_.sequence) *=
          axes_[d].fixed();
  }

  void add(const LoopNest& nest) {
    std::vector<CudaLoad> loads;
    std::vector<StorePlaces> stores;
    for (const Load& each : nest.loads) loads.push_back(load(each));
    for (const Store& each : nest.stores) stores.push_back(store(each));
    std::vector<IntDims> strides = strides_of(nest, loads, stores);
    if (!fit(strides)) {
      for (std::size_t k = 0; k < loads.size(); ++k) copy_first(nest.loads[k], loads[k]);
      strides = strides_of(nest, loads, stores);
      if (!fit(strides)) throw InternalError("a kernel's outputs lie along more axes than a launch takes");
    }
    std::vector<std::int64_t> numbers;
    for (const Dim each : nest.numbers) numbers.push_back(evaluate(each, values_));
    numbers.resize(numbers_of(nest), 0);
    NestArguments given = arguments(strides);
    const cuda::TileJob tiles = plan_tiles(nest, given.inner);
    ArgumentWords words(given, results_of(nest), numbers);
    put_indices(nest, loads, words);
    plan_.passes.push_back({std::move(loads), std::move(stores), std::move(words), length_,
                            plan_vectors(nest, given.inner), tiles});
  }

 private:
  static void put_indices(const LoopNest& nest, const std::vector<CudaLoad>& loads, ArgumentWords& words) {
    for (std::size_t k = 0; k < loads.size(); ++k) {
      std::size_t first = first_word_of(nest, k);
      for (const CudaGather::Index& each : loads[k].gather.indices) {
        words.put_numbers(first, each.words);
        first += kIndexWords;
      }
    }
  }

  CudaLoad load(const Load& load) {
    CudaLoad planned{{}, contiguous(axes_), {}, {}, {}};
    if (load.drawn != nullptr) {
      const Attrs attrs = evaluate(*load.drawn, load.attrs, values_);
      planned.draw = cuda::job_of(load.drawn->lowering.as<lowering::Draw>()->distribution(attrs));
    }
    if (load.gather != nullptr) planned.gather = plan_gather(load, inputs_, values_);
    if (load.input < 0) return planned;
    ShownLayout shown = layout_of(load, plan_.inputs[static_cast<std::size_t>(load.input)], values_);
    planned.laid_out = std::move(shown.laid_out);
    planned.layout = std::move(shown.layout);
    return planned;
  }
  StorePlaces store(const Store& store) {
    if (store.around.empty()) return {axes_, 0, IntDims(contiguous_strides(axes_)), {}};
    return places_of(store, axes_, plan_.inputs, values_);
  }
  // Of more axes than fit: what does not lie in order is laid out so.
  void copy_first(const Load& load, CudaLoad& planned) const {
    if (load.input < 0 || load.per_row) return;
    planned.broadcast = axes_;
  }

  std::vector<IntDims> strides_of(const LoopNest& nest, const std::vector<CudaLoad>& loads,
                                  const std::vector<StorePlaces>& stores) const {
    std::vector<IntDims> all;
    for (std::size_t k = 0; k < loads.size(); ++k) {
      if (nest.loads[k].gather != nullptr) {
        all.push_back(loads[k].gather.strides);
        continue;
      }
      const Layout& layout = loads[k].broadcast.empty() ? loads[k].layout : contiguous(axes_);
      all.push_back(strides_along(layout, axes_, row_axes_, nest.loads[k].per_row));
    }
    for (std::size_t k = 0; k < stores.size(); ++k) {
      const bool per_row = nest.stores[k].per_row;
      all.push_back(per_row ? strides_along(contiguous(rows()), axes_, row_axes_, true) : stores[k].strides);
    }
    for (const CudaLoad& load : loads)
      for (const CudaGather::Index& each : load.gather.indices) all.push_back(each.strides);
    all.resize(operands_of(nest), IntDims(axes_.size(), 0));
    return all;
  }
  std::int64_t blocks() const { return std::max<std::int64_t>(1, reduction_blocks(length_)); }
  Dims rows() const { return {axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(row_axes_)}; }

  NestArguments arguments(const std::vector<IntDims>& strides) const {
    return {rows_, length_, blocks(), part(strides, 0, row_axes_), part(strides, row_axes_, axes_.size())};
  }
  bool fit(const std::vector<IntDims>& strides) const {
    const NestArguments made = arguments(strides);
    return made.outer.fits() && made.inner.fits();
  }
  WalkAxes part(const std::vector<IntDims>& strides, std::size_t begin, std::size_t end) const {
    const auto cut = [&](const auto& all) {
      return IntDims(all.begin() + static_cast<std::ptrdiff_t>(begin),
                     all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<IntDims> parts;
    for (const IntDims& each : strides) parts.push_back(cut(each));
    return WalkAxes(cut(IntDims(axes_)), parts);
  }

  Inputs inputs_;
  CudaPlan& plan_;
  const SymbolValues& values_;
  Dims axes_;
  std::size_t row_axes_ = 0;
  std::int64_t rows_ = 1, length_ = 1;
};

}  // namespace

CudaPlan plan_for_cuda(const Lowered& lowered, Inputs inputs, const Dims& symbols,
                       const SymbolValues& values) {
  CudaPlan plan;
  plan.symbols = symbols;
  for (const Tensor& each : inputs) plan.inputs.push_back(each.layout());
  Planner planner(lowered.passes[0], inputs, plan, values);
  planner.put_sizes(lowered.column_rank);
  for (const LoopNest& each : lowered.row_passes()) planner.add(each);
  if (!lowered.columns.empty())
    Planner(lowered.passes.back(), inputs, plan, values).add(lowered.passes.back());
  return plan;
}

}  // namespace kiln::jit
