// Distinct elements and slices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tensor/cpu/copy.h"
#include "tensor/cpu/offsets.h"
#include "tensor/cpu/sort.h"
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

// Indices in sorted order, and whether each starts a new group.
struct Groups {
  std::vector<std::int64_t> order;
  std::vector<char> starts;
};

template <class T>
bool same(T a, T b) {
  if constexpr (requires { to_float(a); }) {
    return to_float(a) == to_float(b);
  } else {
    return a == b;
  }
}

Groups group_elements(const Tensor& flat) {
  const Tensor order = cpu::argsort(flat, 0, false);
  const auto* index = order.data<std::int64_t>();
  Groups groups{{index, index + order.numel()},
                std::vector<char>(static_cast<std::size_t>(order.numel()), 1)};
  visit_dtype(flat.dtype(), [&]<class T>() {
    const T* x = flat.data<T>();
    for (std::size_t i = 1; i < groups.order.size(); ++i)
      groups.starts[i] = !same(x[groups.order[i]], x[groups.order[i - 1]]);
  });
  return groups;
}

// Rows of a contiguous matrix, compared element by element.
Groups group_rows(const Tensor& matrix) {
  const Dim rows = matrix.size(0);
  const Dim columns = matrix.size(1);
  Groups groups{std::vector<std::int64_t>(static_cast<std::size_t>(rows)),
                std::vector<char>(static_cast<std::size_t>(rows), 1)};
  std::iota(groups.order.begin(), groups.order.end(), 0);
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
    std::stable_sort(groups.order.begin(), groups.order.end(),
                     [&](auto a, auto b) { return compare(a, b) < 0; });
    for (std::size_t i = 1; i < groups.order.size(); ++i)
      groups.starts[i] = compare(groups.order[i], groups.order[i - 1]) != 0;
  });
  return groups;
}

Tensor vector_of(const std::vector<std::int64_t>& values) {
  const Tensor result = Tensor::empty(Dims{static_cast<Dim>(values.size())}, DType::I64);
  std::copy(values.begin(), values.end(), result.writable<std::int64_t>());
  return result;
}

Tensors unique_eager(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const bool by_slice = attrs.has("dim");
  const int dim = by_slice ? rules::dim_attr(attrs, "dim", x.rank()) : 0;
  Tensor source = x;
  if (by_slice) {
    const Tensor lines = ops::transpose(x, 0, dim);
    const Dim rows = lines.size(0);
    source = cpu::contiguous_copy(lines, x.dtype());
    source = Tensor::alias(source, rules::contiguous_layout(Dims{rows, rows == 0 ? 0 : x.numel() / rows}));
  } else {
    source = cpu::contiguous_copy(x, x.dtype());
    source = Tensor::alias(source, rules::contiguous_layout(Dims{x.numel()}));
  }
  const Groups groups = by_slice ? group_rows(source) : group_elements(source);
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> inverse(groups.order.size());
  for (std::size_t i = 0; i < groups.order.size(); ++i) {
    if (groups.starts[i]) {
      firsts.push_back(groups.order[i]);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<std::size_t>(groups.order[i])] = static_cast<std::int64_t>(firsts.size()) - 1;
  }
  Tensors outputs{by_slice ? ops::index_select(x, dim, vector_of(firsts))
                           : ops::index_select(source, 0, vector_of(firsts))};
  if (attrs.get<bool>("return_inverse")) {
    const Tensor flat = vector_of(inverse);
    outputs.push_back(by_slice ? flat : Tensor::alias(flat, rules::contiguous_layout(x.sizes())));
  }
  if (attrs.get<bool>("return_counts")) outputs.push_back(vector_of(counts));
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
