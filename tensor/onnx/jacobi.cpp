// Eigenvalues and singular values over smaller ops, by Jacobi's rotations: those of n / 2 pairs of columns at
// once, in the order of a round robin tournament, whose n rounds are a sweep.
#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/onnx/unrolled.h"
#include "tensor/ops/decompose.h"

namespace kiln::onnx_rules {
namespace {

using linalg::column;
using linalg::columns_of;
using linalg::row;
using linalg::rows_of;
using linalg::t;

Tensor scalar(double value) { return Tensor::number(value); }

// Convergence is quadratic at the end: f64 needs 5 to 8 sweeps for these sizes.
int sweeps_for(std::int64_t n) { return n <= 2 ? 1 : n <= 8 ? 7 : 10; }
std::int64_t rounds_of(std::int64_t n) { return n % 2 == 0 ? n - 1 : n; }

// Column i is paired with column n - 1 - i. After each round the columns change places, all but the first one
// where n is even, so that in a sweep each meets each.
class Rounds {
 public:
  Rounds(std::int64_t n, const Tensor& like) : n_(n), own_(linalg::eye(n, like.type())) {
    partner_ = ops::flip(own_, Dims{1});
    moved_own_ = moved(own_);
    moved_partner_ = moved(partner_);
    const Tensor places = ops::arange(0, n, 1, like.dtype(), like.device());
    side_ = ops::sign(scalar(static_cast<double>(n - 1) / 2) - places);
  }

  // The orthogonal matrix that makes the elements of pairs in the symmetric x zero, and moves columns.
  Tensor rotation(const Tensor& x) const {
    const Dims last{x.rank() - 1};
    // Both of a pair must see the same numbers to the bit, or they turn by different angles.
    const Dims place{x.rank() - 2};
    const Tensor own = ops::sum(x * own_, last), above = ops::sum(x * partner_, last);
    const Tensor shared = above + ops::flip(above, place);
    const Tensor gap = (ops::flip(own, place) - own) * side_;
    const Tensor length = ops::abs(gap) + ops::sqrt(ops::square(gap) + ops::square(shared));
    const Tensor is_zero = ops::eq(length, scalar(0.0));
    const Tensor share = shared / ops::where(is_zero, scalar(1.0), length);
    const Tensor tangent = ops::where(ops::lt(gap, scalar(0.0)), -share, share) * side_;
    const Tensor cosine = ops::reciprocal(ops::sqrt(ops::square(tangent) + 1.0));
    return column(cosine) * moved_own_ + column(cosine * tangent) * moved_partner_;
  }

 private:
  Tensor moved(const Tensor& x) const {
    const std::int64_t kept = n_ % 2 == 0 ? 1 : 0;
    const Tensor parts[] = {some_columns(x, 0, kept), some_columns(x, n_ - 1, 1),
                            some_columns(x, kept, n_ - 1 - kept)};
    return beside(parts);
  }

  std::int64_t n_;
  Tensor own_, partner_, moved_own_, moved_partner_, side_;
};

// The largest magnitude of each matrix, 1 of zeros: what it is divided by, so that no square overflows.
Tensor greatest_scale(const Tensor& x) {
  const Tensor largest = ops::amax(ops::abs(x), Dims{x.rank() - 2, x.rank() - 1}, true);
  return ops::where(ops::eq(largest, scalar(0.0)), scalar(1.0), largest);
}

struct Sorted {
  Tensor values, order;
};
Sorted sorted(const Tensor& values, bool falls) {
  const Tensor order = ops::argsort(values, values.rank() - 1, falls);
  return {ops::gather(values, values.rank() - 1, order), order};
}
Tensor columns_in(const Tensor& order, const Tensor& x) {
  return ops::gather(x, x.rank() - 1, ops::expand(row(order), x.sizes()));
}

// Of a symmetric matrix of which one triangle counts.
struct Eigen {
  Tensor values, vectors;
};
Eigen eigen_of(const Op& op, const Tensor& given, bool reads_upper, bool wants_vectors) {
  const std::int64_t n = unrolled_size(op, given, 0);
  const Tensor lower = ops::tril(reads_upper ? t(given) : given);
  const Tensor scale = greatest_scale(lower);
  Tensor x = (lower + t(ops::tril(lower, -1))) / scale;
  const Rounds rounds(n, given);
  Tensor vectors;
  for (std::int64_t i = 0; i < rounds_of(n) * sweeps_for(n); ++i) {
    const Tensor turn = rounds.rotation(x);
    x = linalg::mm(t(turn), x, turn);
    if (wants_vectors) vectors = vectors ? ops::matmul(vectors, turn) : turn;
  }
  const Sorted found = sorted(linalg::diagonal(x) * ops::squeeze(scale, Dims{scale.rank() - 1}), false);
  return {found.values, wants_vectors ? columns_in(found.order, vectors) : Tensor()};
}

// The columns of x, turned until they are orthogonal: as long as the singular values (M. Hestenes,
// "Inversion of matrices by biorthogonalization and related results", 1958). x has no more columns than rows.
struct Turned {
  Tensor columns, vectors, lengths;  // lengths fall
};
Turned turned(const Op& op, Tensor x, bool wants_vectors) {
  const std::int64_t n = unrolled_size(op, x, 0);
  unrolled_size(op, x, 1);
  const Tensor scale = greatest_scale(x);
  x = x / scale;
  const Rounds rounds(n, x);
  Tensor vectors;
  for (std::int64_t i = 0; i < rounds_of(n) * sweeps_for(n); ++i) {
    const Tensor turn = rounds.rotation(ops::matmul(t(x), x));
    x = ops::matmul(x, turn);
    if (wants_vectors) vectors = vectors ? ops::matmul(vectors, turn) : turn;
  }
  const Sorted found = sorted(ops::sqrt(ops::sum(ops::square(x), Dims{x.rank() - 2})), true);
  const Tensor lengths = found.values * ops::squeeze(scale, Dims{scale.rank() - 1});
  if (!wants_vectors) return {{}, {}, lengths};
  return {columns_in(found.order, x), columns_in(found.order, vectors), lengths};
}

}  // namespace

Tensors eigh(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Eigen found = eigen_of(op, inputs[0], reads_upper(attrs), true);
  return {found.values, found.vectors};
}
Tensors eigvalsh(const Op& op, Inputs inputs, const Attrs& attrs) {
  return {eigen_of(op, inputs[0], reads_upper(attrs), false).values};
}

// Columns of length 0 have no direction: reflections complete the basis, and give the others again, but for
// signs.
Tensors thin_svd(const Op& op, Inputs inputs, const Attrs&) {
  const bool is_wide = rows_of(inputs[0]) < columns_of(inputs[0]);
  const Tensor x = is_wide ? t(inputs[0]) : inputs[0];
  const std::int64_t n = unrolled_size(op, x, 0);
  const Turned found = turned(op, x, true);
  const Orthogonal basis = orthogonal_factors(op, found.columns, n);
  const Tensor diagonal = linalg::diagonal(some_rows(basis.r, 0, n));
  const Tensor signs = ops::where(ops::lt(diagonal, scalar(0.0)), scalar(-1.0), ops::ones_like(diagonal));
  const Tensor left = basis.q * row(signs);
  if (is_wide) return {found.vectors, found.lengths, t(left)};
  return {left, found.lengths, t(found.vectors)};
}
Tensors svdvals(const Op& op, Inputs inputs, const Attrs&) {
  const bool is_wide = rows_of(inputs[0]) < columns_of(inputs[0]);
  return {turned(op, is_wide ? t(inputs[0]) : inputs[0], false).lengths};
}

}  // namespace kiln::onnx_rules
