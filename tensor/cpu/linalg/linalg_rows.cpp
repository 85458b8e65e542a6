// Kernels of the factorizations and what is solved by them.
#include <fmt/format.h>

#include <numeric>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/linalg/factor.h"
#include "tensor/ops/decompose.h"
#include "tensor/ops/linalg.h"

namespace kiln::cpu {
namespace {

// "the matrix", or which of the batch.
std::string named_element(std::int64_t element, const IntDims& batch) {
  if (batch.empty()) return "the matrix";
  IntDims index(batch.size(), 0);
  for (std::size_t d = batch.size(); d-- > 0; element /= batch[d]) index[d] = element % batch[d];
  return "batch element " + (index.size() == 1 ? std::to_string(index[0]) : to_string(index));
}

// Throws OpError (Value) when a matrix of x has no result: "inv: batch element 1 is singular: …". `why` may
// hold one {} for LAPACK's `info`.
void check(const Factored& result, const Tensor& x, const Op& op, std::string_view why, std::string help) {
  if (result.failed < 0) return;
  throw OpError(
      ErrorKind::Value,
      fmt::format("{}: {} {}", spoken_name(op), named_element(result.failed, linalg::batch_sizes(x.sizes())),
                  fmt::format(fmt::runtime(why), result.info)),
      {0}, std::move(help));
}
void check_converged(const Factored& result, const Tensor& x, const Op& op) {
  check(result, x, op, result.info < 0 ? "holds a value that is not finite" : "did not converge (info {})",
        "");
}

constexpr std::string_view kSingular = "is singular: pivot {} is zero";

void det(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  determinant(outputs[0], inputs[0]);
}
void slogdet(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  sign_and_log_determinant(outputs[0], outputs[1], inputs[0]);
}
void inv(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  check(inverse(outputs[0], inputs[0]), inputs[0], op, kSingular, "`pinv` gives the pseudoinverse");
}

void factor(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  lu_factors(outputs[0], outputs[1], inputs[0]);
}
void permutation_by_swaps(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor pivots = contiguous_copy(inputs[0], DType::I64);
  const auto rows = attrs.get<std::int64_t>("rows");
  const std::int64_t swaps = pivots.size(pivots.rank() - 1);
  const bool inverted = attrs.get<bool>("inverse");
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  auto* to = outputs[0].writable<std::int64_t>();
  const auto* from = pivots.data<std::int64_t>();
  for (std::int64_t left = outputs[0].numel(); left > 0; left -= rows, to += rows, from += swaps) {
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t k = 0; k < swaps; ++k) {
      if (from[k] < 1 || from[k] > rows) {
        throw OpError(ErrorKind::Value,
                      fmt::format("{}: a pivot lies between 1 and {}, {} does not", op.name(), rows, from[k]),
                      {0});
      }
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(from[k] - 1)]);
    }
    for (std::int64_t i = 0; i < rows; ++i)
      inverted ? to[order[static_cast<std::size_t>(i)]] = i : to[i] = order[static_cast<std::size_t>(i)];
  }
}

// Vectors as matrices of one column.
Tensor as_columns(const Tensor& x) {
  Layout layout = x.layout();
  layout.sizes.push_back(1);
  layout.strides.push_back(1);
  return Tensor::alias(x, layout);
}
void solve_sides(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const bool vector = linalg::is_vector_side(inputs[0].sizes(), inputs[1].sizes());
  const Tensor sides = vector ? as_columns(inputs[1]) : inputs[1];
  const Tensor result = vector ? as_columns(outputs[0]) : outputs[0];
  check(solve(result, inputs[0], sides, attrs.get<bool>("left")), result, op, kSingular,
        "`lstsq` gives the least-squares solution");
}
void solve_by_triangle(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Triangle triangle{attrs.get<bool>("upper"), attrs.get<bool>("unitriangular")};
  solve_triangular(outputs[0], inputs[0], inputs[1], triangle, attrs.get<bool>("left"));
}
void cholesky_factor(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  check(cholesky(outputs[0], inputs[0], attrs.get<bool>("upper")), inputs[0], op,
        "is not positive-definite: its leading minor of order {} is not positive",
        "add a multiple of the identity, as in `A + 1e-6 * eye(n)`");
}

void qr_factors(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const bool only_r = attrs.get<std::string>("mode") == "r";
  qr(only_r ? Tensor() : outputs[0], outputs[1], inputs[0]);
}
void complement_of(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  complement(outputs[0], inputs[0]);
}
void thin_svd(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  check_converged(svd(outputs[0], outputs[1], outputs[2], inputs[0]), inputs[0], op);
}
void svdvals(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  check_converged(svd({}, outputs[0], {}, inputs[0]), inputs[0], op);
}
template <bool kVectors>
void eigen(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor vectors = kVectors ? outputs[1] : Tensor();
  check_converged(eigh(outputs[0], vectors, inputs[0], reads_upper(attrs)), inputs[0], op);
}

template <bool kVectors>
void general_eigen(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor absent;
  check_converged(
      eig({outputs[0], outputs[1], kVectors ? outputs[2] : absent, kVectors ? outputs[3] : absent},
          inputs[0]),
      inputs[0], op);
}

}  // namespace

void add_linalg_kernels(Column& column) {
  column.add("det", det);
  column.add("slogdet", slogdet);
  column.add("inv", inv);
  column.add("solve", solve_sides);
  column.add("lu_factor", factor);
  column.add("lu_permutation", permutation_by_swaps);
  column.add("solve_triangular", solve_by_triangle);
  column.add("cholesky", cholesky_factor);
  column.add("qr", qr_factors);
  column.add("complement", complement_of);
  column.add("thin_svd", thin_svd);
  column.add("svdvals", svdvals);
  column.add("eigh", eigen<true>);
  column.add("eigvalsh", eigen<false>);
  column.add("eig_parts", general_eigen<true>);
  column.add("eigvals_parts", general_eigen<false>);
}

}  // namespace kiln::cpu
