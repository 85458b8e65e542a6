// Distinct elements and slices.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/places.h"
#include "tensor/cpu/order/nonzero.h"
#include "tensor/cpu/order/sort.h"
#include "tensor/ops/rules.h"

namespace kiln {

void add_unique_ops(OpTable& table);

namespace {

constexpr std::string_view kIntegers = "which elements are distinct is not a continuous question";

std::vector<TensorType> unique_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType& x = inputs[0];
  Dims sizes{-1};
  Dims inverse = x.sizes;
  if (attrs.has("dim")) {
    const int dim = rules::dim_attr(attrs, "dim", static_cast<int>(x.sizes.size()));
    if (x.sizes.empty()) throw OpError(ErrorKind::Shape, "unique: a 0-d tensor has no dimension", {0});
    sizes = x.sizes;
    inverse = Dims{x.sizes[static_cast<std::size_t>(dim)]};
    sizes[static_cast<std::size_t>(dim)] = -1;
  }
  std::vector<TensorType> types{rules::with_sizes(x, sizes)};
  if (attrs.get<bool>("return_inverse")) types.push_back({DType::I64, x.device, inverse});
  if (attrs.get<bool>("return_counts")) types.push_back({DType::I64, x.device, Dims{-1}});
  return types;
}

// Rows of a contiguous matrix, compared element by element.
cpu::SortedGroups sorted_rows(const Tensor& matrix) {
  const Dim rows = matrix.size(0);
  const Dim columns = matrix.size(1);
  const cpu::SortedGroups groups{ops::arange(0, rows), Tensor::empty(Dims{rows}, DType::Bool)};
  auto* order = groups.order.writable<std::int64_t>();
  bool* starts = groups.starts.writable<bool>();
  visit_dtype(matrix.dtype(), [&]<class T>() {
    const T* x = matrix.data<T>();
    const auto compare = [=](std::int64_t a, std::int64_t b) {
      for (Dim j = 0; j < columns; ++j) {
        const T left = x[a * columns + j];
        const T right = x[b * columns + j];
        if constexpr (requires { to_float(left); }) {
          if (to_float(left) != to_float(right)) return to_float(left) < to_float(right) ? -1 : 1;
        } else {
          if (left != right) return left < right ? -1 : 1;
        }
      }
      return 0;
    };
    std::stable_sort(order, order + rows, [&](auto a, auto b) { return compare(a, b) < 0; });
    for (Dim i = 0; i < rows; ++i) starts[i] = i == 0 || compare(order[i], order[i - 1]) != 0;
  });
  return groups;
}

// How far each of ascending places is from the next, the last from `end`.
Tensor lengths_of(const Tensor& places, std::int64_t end) {
  const Tensor result = Tensor::empty(places.sizes(), DType::I64);
  const std::int64_t count = places.numel();
  const auto* from = places.data<std::int64_t>();
  auto* to = result.writable<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) to[i] = (i + 1 < count ? from[i + 1] : end) - from[i];
  return result;
}

Tensors unique_eager(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const bool by_slice = attrs.has("dim");
  const int dim = by_slice ? rules::dim_attr(attrs, "dim", x.rank()) : 0;
  Tensor source;
  if (by_slice) {
    Dims order{dim};  // those before and behind stay in order, in which slices are compared
    for (int d = 0; d < x.rank(); ++d)
      if (d != dim) order.push_back(d);
    const Tensor lines = ops::permute(x, order);
    const Dim rows = lines.size(0);
    source = cpu::contiguous_copy(lines, x.dtype());
    source = Tensor::alias(source, rules::contiguous_layout(Dims{rows, rows == 0 ? 0 : x.numel() / rows}));
  } else {
    source = x.is_contiguous() ? x : cpu::contiguous_copy(x, x.dtype());
    source = Tensor::alias(source, {Dims{x.numel()}, Dims{1}, source.offset()});
  }
  const cpu::SortedGroups groups = by_slice ? sorted_rows(source) : cpu::sorted_groups(source);
  const std::int64_t count = groups.order.numel();
  const Tensor starts = ops::reshape(cpu::nonzero(groups.starts), Dims{-1});
  const Tensor firsts = ops::index_select(groups.order, 0, starts);
  Tensors outputs{by_slice ? ops::index_select(x, dim, firsts) : ops::index_select(source, 0, firsts)};
  if (attrs.get<bool>("return_inverse")) {
    const Tensor numbers = ops::cumsum(groups.starts, 0) - Tensor::number(std::int64_t{1});
    const Tensor inverse = Tensor::empty(Dims{count}, DType::I64);
    cpu::put(inverse, numbers, cpu::places_around(inverse.layout(), 0, 1, groups.order, 1), cpu::Put::Write);
    outputs.push_back(by_slice ? inverse : Tensor::alias(inverse, rules::contiguous_layout(x.sizes())));
  }
  if (attrs.get<bool>("return_counts")) outputs.push_back(lengths_of(starts, count));
  return outputs;
}

}  // namespace

void add_unique_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("unique(x: tensor, sorted: bool = true, return_inverse: bool = false, "
                                     "return_counts: bool = false, dim: index? = none)"),
       .family = "index",
       .documentation = "The distinct elements, or slices along `dim`, in ascending order; if asked for, "
                        "also which of them "
                        "each one was, and how often each occurs.",
       .example = ">>> unique(tensor([3, 1, 3])).tolist()\n[1, 3]",
       .infer = unique_infer,
       .eager = unique_eager,
       .vjp = Rule<VjpFn>::none(kIntegers),
       .jvp = Rule<JvpFn>::none(kIntegers),
       .batch =
           Rule<BatchFn>::none("the number of distinct elements differs between the examples of a batch"),
       .lowering = Lowering::Library,
       .traits = kDataDependent,
       .outputs = kOnDemand,
       .onnx = "Unique"});
}

}  // namespace kiln
