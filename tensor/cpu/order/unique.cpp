// The kernel of unique: counting sorts and finds where runs of equal elements begin, the rest reads that.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/moves/places.h"
#include "tensor/cpu/order/nonzero.h"
#include "tensor/cpu/order/sort.h"
#include "tensor/ops/rules.h"

namespace kiln::cpu {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (requires { to_float(x); }) return std::isnan(to_float(x));
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

// Below 0: `a` comes before `b`; 0: they are alike. nan comes last, and all nans are alike.
template <class T>
int compare_elements(T a, T b) {
  if constexpr (requires { to_float(a); }) {
    return compare_elements(to_float(a), to_float(b));
  } else {
    if (is_nan(a) || is_nan(b)) return (is_nan(a) ? 1 : 0) - (is_nan(b) ? 1 : 0);
    return a == b ? 0 : a < b ? -1 : 1;
  }
}

// Rows of a contiguous matrix, compared element by element. nan equals nothing, so that a row with one begins
// a run.
SortedGroups sorted_rows(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(0);
  const std::int64_t columns = matrix.size(1);
  const SortedGroups groups{Tensor::empty(IntDims{rows}, DType::I64, Device{}),
                            Tensor::empty(IntDims{rows}, DType::Bool, Device{})};
  auto* order = groups.order.writable<std::int64_t>();
  bool* starts = groups.starts.writable<bool>();
  visit_dtype(matrix.dtype(), [&]<class T>() {
    const T* x = matrix.data<T>();
    const auto compare = [=](std::int64_t a, std::int64_t b) {
      check_interrupt();
      for (std::int64_t j = 0; j < columns; ++j) {
        const int which = compare_elements(x[a * columns + j], x[b * columns + j]);
        if (which != 0) return which;
      }
      return 0;
    };
    const auto has_nan = [=](std::int64_t row) {
      return std::any_of(x + row * columns, x + (row + 1) * columns, is_nan<T>);
    };
    std::iota(order, order + rows, std::int64_t{0});
    std::stable_sort(order, order + rows, [&](auto a, auto b) { return compare(a, b) < 0; });
    for (std::int64_t i = 0; i < rows; ++i)
      starts[i] = i == 0 || compare(order[i], order[i - 1]) != 0 || has_nan(order[i]);
  });
  return groups;
}

bool is_by_slice(const Attrs& attrs) { return attrs.has("dim"); }
int slice_dim(const Tensor& x, const Attrs& attrs) {
  return is_by_slice(attrs) ? rules::dim_attr(attrs, "dim", x.rank()) : 0;
}

// The elements as a vector, or the slices along `dim` as rows: those dimensions before and behind stay in
// order, in which slices are compared.
Tensor sorted_source(const Tensor& x, const Attrs& attrs) {
  if (!is_by_slice(attrs)) return with_sizes(dense(x, x.dtype()), IntDims{x.numel()});
  const auto dim = static_cast<std::size_t>(slice_dim(x, attrs));
  Layout lines{{x.sizes()[dim]}, {x.strides()[dim]}, x.offset()};
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    if (d == dim) continue;
    lines.sizes.push_back(x.sizes()[d]);
    lines.strides.push_back(x.strides()[d]);
  }
  const std::int64_t rows = lines.sizes[0];
  return with_sizes(contiguous_copy(Tensor::alias(x, lines), x.dtype()),
                    IntDims{rows, rows == 0 ? 0 : x.numel() / rows});
}

// The work: the sorted order, which places of it begin a run, and these places.
CountedOutputs count_unique(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  const Tensor& x = inputs[0];
  const Tensor source = sorted_source(x, attrs);
  const SortedGroups groups = is_by_slice(attrs) ? sorted_rows(source) : sorted_groups(source);
  const std::int64_t unit[] = {1};
  const Tensor firsts = true_offsets(groups.starts, unit);
  IntDims sizes{firsts.numel()}, inverse = x.sizes();
  if (is_by_slice(attrs)) {
    const auto dim = static_cast<std::size_t>(slice_dim(x, attrs));
    inverse = IntDims{x.sizes()[dim]};
    sizes = x.sizes();
    sizes[dim] = firsts.numel();
  }
  std::vector<TensorType> types{{x.dtype(), x.device(), sizes}};
  if (attrs.get<bool>("return_inverse")) types.push_back({DType::I64, x.device(), inverse});
  if (attrs.get<bool>("return_counts")) types.push_back({DType::I64, x.device(), IntDims{firsts.numel()}});
  return {std::move(types), {groups.order, groups.starts, firsts}};
}

// order[firsts[i]]: where the first of each run of equal elements is in x.
Tensor first_places(const Tensor& order, const Tensor& firsts) {
  const Tensor result = Tensor::empty(firsts.sizes(), DType::I64, Device{});
  take(result, order, places_along(order, 0, firsts));
  return result;
}

// Which run each place of the order belongs to.
Tensor run_numbers(const Tensor& starts) {
  const Tensor numbers = Tensor::empty(starts.sizes(), DType::I64, Device{});
  const bool* begins = starts.data<bool>();
  auto* to = numbers.writable<std::int64_t>();
  std::int64_t number = -1;
  in_pieces(static_cast<std::size_t>(starts.numel()), kPieceOfValues, [&](std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) to[i] = number += begins[i] ? 1 : 0;
  });
  return numbers;
}

// How far each of ascending places is from the next, the last from `end`.
void lengths_of(const Tensor& result, const Tensor& places, std::int64_t end) {
  const std::int64_t count = places.numel();
  const auto* from = places.data<std::int64_t>();
  auto* to = result.writable<std::int64_t>();
  parallel_for(count, std::int64_t{1} << 15, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) to[i] = (i + 1 < count ? from[i + 1] : end) - from[i];
  });
}

void unique(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &order = inputs[1], &starts = inputs[2], &firsts = inputs[3];
  const Tensor places = first_places(order, firsts);
  const Tensor source = is_by_slice(attrs) ? x : with_sizes(dense(x, x.dtype()), IntDims{x.numel()});
  take(outputs[0], source, places_along(source, slice_dim(x, attrs), places));
  std::size_t next = 1;
  if (attrs.get<bool>("return_inverse")) {
    const Tensor inverse = with_sizes(outputs[next++], IntDims{order.numel()});
    put(inverse, run_numbers(starts), places_around(inverse.layout(), 0, 1, order, 1), Put::Write);
  }
  if (attrs.get<bool>("return_counts")) lengths_of(outputs[next], firsts, order.numel());
}

}  // namespace

void add_unique_kernels(Column& column) {
  column.add("unique", {.count = count_unique, .run_counted = unique});
}

}  // namespace kiln::cpu
