// Norms and ranks of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/ops/linalg.h"

namespace kiln {

namespace {

using namespace linalg;
using rules::apply_one;

// ---- matrix_norm ----

// `ord` as a word or a number.
struct Order {
  std::string word;
  double number = 0;

  bool by_singular_values() const { return word == "nuc" || std::abs(number) == 2; }
  bool by_columns() const { return std::abs(number) == 1; }  // sums along rows' dimension first
};

Order order_of(const Attrs& attrs) {
  Order order;
  if (const auto* word = attrs.find<std::string>("ord")) {
    order.word = *word;
    if (order.word == "fro" || order.word == "nuc") return order;
    throw OpError(ErrorKind::Value,
                  fmt::format("matrix_norm: ord is \"fro\", \"nuc\" or a number, not \"{}\"", order.word));
  }
  order.number = rules::float_of(attrs.at("ord"));
  const double size = std::abs(order.number);
  if (size == 1 || size == 2 || std::isinf(size)) return order;
  throw OpError(
      ErrorKind::Value,
      fmt::format("matrix_norm: ord is 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\", not {}", order.number));
}

// The dimensions of rows and of columns.
struct Plane {
  int rows, columns;
};
Plane plane_of(const Attrs& attrs, int rank) {
  const auto& dims = attrs.get<Dims>("dim");
  if (dims.size() != 2) {
    throw OpError(ErrorKind::Value,
                  fmt::format("matrix_norm: dim names two dimensions, got {}", to_string(dims)));
  }
  const Plane plane{wrap_dim(dims[0], rank, "matrix_norm"), wrap_dim(dims[1], rank, "matrix_norm")};
  if (plane.rows != plane.columns) return plane;
  throw OpError(ErrorKind::Value,
                fmt::format("matrix_norm: the two dimensions must differ, got {}", to_string(dims)));
}

DType norm_dtype(const TensorType& x, const Attrs& attrs) {
  const DType own = real_type(x).dtype, dtype = rules::dtype_attr(attrs, own);
  if (is_float(dtype) && promote(own, dtype) == dtype) return dtype;
  throw OpError(
      ErrorKind::DType,
      fmt::format("matrix_norm: {} cannot become {} without losing precision", name(x.dtype), name(dtype)),
      {0});
}

std::vector<TensorType> matrix_norm_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  TensorType x = inputs[0];
  need_matrices(x, attrs);
  const Order order = order_of(attrs);
  const Plane plane = plane_of(attrs, static_cast<int>(x.sizes.size()));
  if (!is_float(x.dtype)) need_field(x, attrs);
  x.dtype = norm_dtype(x, attrs);
  if (order.by_singular_values()) need_field(x, attrs);
  const auto rows = static_cast<std::size_t>(plane.rows), columns = static_cast<std::size_t>(plane.columns);
  const Dim compared = order.by_singular_values() ? min(x.sizes[rows], x.sizes[columns])
                                                  : x.sizes[order.by_columns() ? columns : rows];
  if (order.number < 0 && compared == 0) {
    throw OpError(
        ErrorKind::Value,
        fmt::format("matrix_norm: ord={} is the smallest of no values in {}", order.number, to_string(x)),
        {0});
  }
  const bool keepdim = attrs.get<bool>("keepdim");
  Dims sizes;
  for (std::size_t d = 0; d < x.sizes.size(); ++d) {
    if (d != rows && d != columns) sizes.push_back(x.sizes[d]);
    if ((d == rows || d == columns) && keepdim) sizes.push_back(1);
  }
  return {rules::with_sizes(x, sizes)};
}

// The largest along a dimension, or the smallest; the largest of nothing is 0.
Tensor extreme(const Tensor& x, int dim, bool largest) {
  const Dims dims{dim};
  if (x.size(dim) == 0) return ops::sum(x, dims, true);
  return largest ? ops::amax(x, dims, true) : ops::amin(x, dims, true);
}

// With both dimensions kept.
Tensor kept_norm(const Tensor& x, const Order& order, Plane plane) {
  if (order.word == "fro")
    return apply_one(op_named("norm"), {x}, {std::int64_t{2}, Dims{plane.rows, plane.columns}, true});
  if (order.by_singular_values()) {
    Dims dims;
    for (int d = 0; d < x.rank(); ++d)
      if (d != plane.rows && d != plane.columns) dims.push_back(d);
    dims.push_back(plane.rows);
    dims.push_back(plane.columns);
    const Tensor values = ops::svdvals(ops::permute(x, dims));
    const int last = values.rank() - 1;
    const Tensor norm =
        order.word == "nuc" ? ops::sum(values, Dims{last}, true) : extreme(values, last, order.number > 0);
    Tensor result = ops::squeeze(norm, Dims{last});
    result = ops::unsqueeze(result, std::min(plane.rows, plane.columns));
    return ops::unsqueeze(result, std::max(plane.rows, plane.columns));
  }
  const int summed = order.by_columns() ? plane.rows : plane.columns;
  const int compared = order.by_columns() ? plane.columns : plane.rows;
  return extreme(ops::sum(ops::abs(x), Dims{summed}, true), compared, order.number > 0);
}

Tensors matrix_norm_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const DType dtype = norm_dtype(inputs[0].type(), attrs);
  const Tensor x = ops::to(inputs[0], is_complex(inputs[0].dtype()) ? complex_of(dtype) : dtype);
  const Plane plane = plane_of(attrs, x.rank());
  const Tensor norm = kept_norm(x, order_of(attrs), plane);
  return {attrs.get<bool>("keepdim") ? norm : ops::squeeze(norm, Dims{plane.rows, plane.columns})};
}

// ---- norm by a word ----

// The row that computes it, and what that is asked for.
struct NamedNorm {
  const Op& row;
  Attrs attrs;
};
NamedNorm named_norm(const Attrs& attrs, std::size_t rank) {
  const auto& word = attrs.get<std::string>("p");
  const bool nuclear = word == "nuc";
  if (!nuclear && word != "fro") {
    throw OpError(ErrorKind::Value, fmt::format("norm: p is \"fro\", \"nuc\" or a number, not \"{}\"", word));
  }
  const Op& row = op_named(nuclear ? "matrix_norm" : "norm");
  NamedNorm result{row, Attrs(row)};
  for (const auto* same : {"dim", "keepdim", "dtype"}) result.attrs.set(same, attrs.at(same));
  if (!nuclear) return result;
  result.attrs.set("ord", std::string("nuc"));
  if (!attrs.has("dim")) {
    Dims all(rank);
    std::iota(all.begin(), all.end(), Dim{0});
    result.attrs.set("dim", all);
  }
  return result;
}

std::vector<TensorType> norm_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const NamedNorm norm = named_norm(attrs, inputs[0].sizes.size());
  const TensorType real = real_type(inputs[0]);
  return norm.row.infer({&real, 1}, norm.attrs);
}
Tensors norm_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const NamedNorm norm = named_norm(attrs, static_cast<std::size_t>(inputs[0].rank()));
  return bind(norm.row, inputs, norm.attrs);
}

// ---- matrix_rank ----

std::vector<TensorType> matrix_rank_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  attrs.get<bool>("hermitian") ? need_square(inputs[0], attrs) : need_matrices(inputs[0], attrs);
  need_field(inputs[0], attrs);
  return {{DType::I64, inputs[0].device, batch_sizes(inputs[0].sizes)}};
}
Tensors matrix_rank_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor values = attrs.get<bool>("hermitian") ? ops::abs(apply_one(op_named("eigvalsh"), {inputs[0]}))
                                                     : ops::svdvals(inputs[0]);
  const Tensor counts = ops::gt(values, rank_tolerance(values, inputs[0], attrs));
  return {ops::sum(counts, Dims{values.rank() - 1})};
}

// ---- cond ----

bool is_spectral(const Attrs& attrs) {
  const Attr& order = attrs.at("p");
  if (std::holds_alternative<std::monostate>(order)) return true;
  return !std::holds_alternative<std::string>(order) && std::abs(rules::float_of(order)) == 2;
}
Tensor norm_of(const Tensor& x, const Attr& order) {
  const bool word = std::holds_alternative<std::string>(order);
  return apply_one(op_named(word ? "matrix_norm" : "matrix_norm.number"), {x}, {order});
}

std::vector<TensorType> cond_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  is_spectral(attrs) ? need_matrices(inputs[0], attrs) : need_square(inputs[0], attrs);
  need_field(inputs[0], attrs);
  return {rules::with_sizes(real_type(inputs[0]), batch_sizes(inputs[0].sizes))};
}
Tensors cond_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const Attr& order = attrs.at("p");
  if (is_spectral(attrs)) {
    const Tensor values = ops::svdvals(x);
    const int last = values.rank() - 1;
    if (values.size(last) == 0) return {ops::sum(values, Dims{last})};
    const Tensor largest = ops::select(values, last, 0);
    const Tensor smallest = ops::select(values, last, values.size(last) - 1);
    const bool inverted = attrs.has("p") && rules::float_of(order) < 0;
    return {inverted ? smallest / largest : largest / smallest};
  }
  // Singular matrices have no inverse to take the norm of.
  const Tensor singular = ops::eq(rules::apply(op_named("slogdet"), inputs)[0], Tensor::number(0.0));
  const Tensor inverse = ops::inv(ops::where(column(column(singular)), eye(columns_of(x), x.type()), x));
  const Tensor product = norm_of(x, order) * norm_of(inverse, order);
  return {ops::masked_fill(product, singular, Tensor::number(std::numeric_limits<double>::infinity()))};
}

}  // namespace

namespace linalg {

Tensor rank_tolerance(const Tensor& values, const Tensor& x, const Attrs& attrs) {
  const double unit = values.dtype() == DType::F32 ? std::numeric_limits<float>::epsilon()
                                                   : std::numeric_limits<double>::epsilon();
  const double* atol = attrs.find<double>("atol");
  const double* rtol = attrs.find<double>("rtol");
  const double usual =
      atol != nullptr && *atol > 0 ? 0 : unit * static_cast<double>(std::max(rows_of(x), columns_of(x)));
  const Tensor largest = extreme(values, values.rank() - 1, true) * (rtol != nullptr ? *rtol : usual);
  return atol != nullptr ? ops::maximum(largest, Tensor::number(*atol)) : largest;
}

}  // namespace linalg

void add_matrix_norm_ops(OpTable& table) {
  constexpr std::string_view kNorm =
      "A norm of the matrices in the two dimensions `dim`: \"fro\", the root of the sum of squares; \"nuc\", "
      "the "
      "sum of the singular values; 2 and -2, the largest and smallest of them; 1 and -1, the largest and "
      "smallest "
      "sum of absolute values of a column; inf and -inf, of a row.";
  table.add(composite_row(
      "matrix_norm(A: tensor, ord: str[\"fro\", \"nuc\"] = \"fro\", dim: dims = (-2, -1), keepdim: "
      "bool = false, *, dtype: dtype? = none)",
      kNorm, ">>> matrix_norm(tensor([[3.0, 0.0], [0.0, 4.0]])).item()\n5.0", matrix_norm_infer,
      matrix_norm_body, kMayFail));
  table.add(composite_row(
      "matrix_norm.number(A: tensor, ord: number, dim: dims = (-2, -1), keepdim: bool = false, *, "
      "dtype: dtype? = none)",
      kNorm, ">>> matrix_norm(tensor([[1.0, -2.0], [3.0, 4.0]]), inf).item()\n7.0", matrix_norm_infer,
      matrix_norm_body, kMayFail));
  table.add(composite_row(
      "norm.word(x: tensor, p: str[\"fro\", \"nuc\"], dim: dims? = none, keepdim: bool = false, *, dtype: "
      "dtype? = none)",
      "The 2-norm along `dim`, of all elements when none (\"fro\"); the sum of the singular values of the "
      "matrices in the two dimensions `dim`, of x when none (\"nuc\").",
      ">>> norm(tensor([[3.0, 0.0], [0.0, 4.0]]), \"nuc\").item()\n7.0", norm_infer, norm_body, kMayFail));
  table.add(composite_row(
      "matrix_rank(A: tensor, *, atol: float? = none, rtol: float? = none, hermitian: bool = false)",
      "How many singular values are larger than `atol` and than `rtol` times the largest; `rtol` is the "
      "precision "
      "times the larger dimension unless `atol` is given. For symmetric matrices (`hermitian`) the absolute "
      "eigenvalues are counted.",
      ">>> matrix_rank(ones(3, 3)).item()\n1", matrix_rank_infer, matrix_rank_body, kMayFail));
  constexpr std::string_view kCond =
      "The condition number of a matrix: its norm times that of its inverse, `p` being as for `matrix_norm`; "
      "for none "
      "and 2, its largest singular value over its smallest. Singular matrices have inf.";
  table.add(composite_row("cond(A: tensor, p: number? = none)", kCond,
                          ">>> cond(tensor([[4.0, 0.0], [0.0, 2.0]])).item()\n2.0", cond_infer, cond_body,
                          kMayFail));
  table.add(composite_row("cond.word(A: tensor, p: str[\"fro\", \"nuc\"])", kCond,
                          ">>> cond(eye(4), \"fro\").item()\n4.0", cond_infer, cond_body, kMayFail));
}

}  // namespace kiln
