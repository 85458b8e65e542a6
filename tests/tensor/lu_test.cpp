// LU factorizations by blocks: sizes around their borders, every instruction set, and matrices that are hard.
#include <limits>

#include "every_isa.h"
#include "long_matrices.h"
#include "tensor/parallel.h"

namespace kiln::lu_test {

using namespace kiln::test;

namespace {

// Around the small, the vectors, the slabs of right-hand sides, the panels and two of them.
constexpr Dim kBorders[] = {12, 13, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 80, 81, 127, 128, 129, 145};
const DType kReal[] = {DType::F32, DType::F64};

long double unit_of(const Tensor& x) { return x.dtype() == DType::F32 ? 0x1p-24L : 0x1p-53L; }
long double largest(const Matrix& x) {
  long double most = 0;
  for (const long double value : x.values) most = std::max(most, std::abs(value));
  return most;
}

// By columns: is a x as near to b as rounding the elements of `a` would take it? Of every matrix, however
// close to singular it is.
void check_solves(const Tensor& a, const Tensor& x, const Tensor& b) {
  const auto n = static_cast<long double>(a.size(0));
  const Matrix left = matrices_of(a)[0], found = matrices_of(x)[0], sides = matrices_of(b)[0];
  const Matrix back = product(left, found);
  long double worst = 0;
  for (Dim j = 0; j < found.columns; ++j) {
    long double size = 0, apart = 0;
    for (Dim i = 0; i < found.rows; ++i) size = std::max(size, std::abs(found.at(i, j)));
    for (Dim i = 0; i < found.rows; ++i) {
      const long double here = std::abs(back.at(i, j) - sides.at(i, j));
      if (!(here <= apart)) apart = here;
    }
    const long double relative = apart / (n * largest(left) * size * unit_of(a));
    if (!(relative <= worst)) worst = relative;
  }
  CHECK(worst < 8);
}

Tensor eye(Dim n, DType dtype) { return ops::contiguous(linalg::eye(n, {dtype, Device{}, {}})); }

}  // namespace

TEST_CASE("systems of sizes around the borders of blocks are solved as well as can be", "[factor][lu]") {
  every_isa([] {
    for (const DType dtype : kReal) {
      for (const Dim n : kBorders) {
        CAPTURE(name(dtype), n);
        const Tensor a = noise({n, n}, dtype, static_cast<unsigned>(n));
        check_solves(a, ops::inv(a), eye(n, dtype));
        for (const Dim columns : {1, 16, 17, 48, 49, 97}) {
          const Tensor b = noise({n, columns}, dtype, 5);
          check_solves(a, ops::solve(a, b), b);
        }
        // x a = b
        const Tensor b = noise({19, n}, dtype, 6);
        check_solves(linalg::t(a), linalg::t(ops::solve(a, b, false)), linalg::t(b));
      }
    }
  });
}

TEST_CASE("determinants are those of elimination in long double", "[factor][lu]") {
  for (const Dim n : kBorders) {
    const Tensor a = noise({n, n}, DType::F64, static_cast<unsigned>(n));
    Matrix m = matrices_of(a)[0];
    const auto at = [&](Dim i, Dim j) -> long double& {
      return m.values[static_cast<std::size_t>(i * n + j)];
    };
    long double expected = 1;
    for (Dim k = 0; k < n; ++k) {
      Dim best = k;
      for (Dim i = k + 1; i < n; ++i)
        if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
      if (best != k) expected = -expected;
      for (Dim j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
      expected *= at(k, k);
      for (Dim i = k + 1; i < n; ++i) {
        const long double scale = at(i, k) / at(k, k);
        for (Dim j = k; j < n; ++j) at(i, j) -= scale * at(k, j);
      }
    }
    CAPTURE(n);
    CHECK(std::abs(nd_of(ops::det(a)).values[0] / static_cast<double>(expected) - 1) < 1e-10);
  }
}

TEST_CASE("matrices close to singular ones are solved as well as can be", "[factor][lu]") {
  for (const DType dtype : kReal) {
    for (const std::int64_t n : {30, 100}) {
      // Columns that shrink by twenty decades (ten in f32), hidden by rotations of noise.
      const double decades = dtype == DType::F32 ? 10 : 20;
      const Tensor scales = tensor_of(
          build({n},
                [&](const IntDims& at) { return std::pow(10.0, -decades * static_cast<double>(at[0]) / n); }),
          dtype);
      const Tensor a = ops::matmul(noise({n, n}, dtype, 3) * linalg::row(scales), noise({n, n}, dtype, 4));
      const Tensor b = noise({n, 20}, dtype, 5);
      CAPTURE(name(dtype), n);
      check_solves(a, ops::solve(a, b), b);
      // Hilbert's.
      const Tensor hilbert = tensor_of(
          build({n, n}, [](const Dims& at) { return 1.0 / static_cast<double>(at[0] + at[1] + 1); }), dtype);
      check_solves(hilbert, ops::solve(hilbert, b), b);
    }
  }
}

TEST_CASE("permutations are inverted exactly, wherever their pivots are", "[factor][lu]") {
  for (const DType dtype : kReal) {
    for (const Dim n : {14, 65, 150}) {
      std::vector<Dim> order(static_cast<std::size_t>(n));
      for (Dim i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(7));
      const Tensor p = tensor_of(
          build({n, n}, [&](const Dims& at) { return order[static_cast<std::size_t>(at[0])] == at[1]; }),
          dtype);
      int sign = 1;
      for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (order[j] > order[i]) sign = -sign;
      CHECK(distance(matrices_of(ops::inv(p))[0], matrices_of(linalg::t(p))[0]) == 0);
      CHECK(nd_of(ops::det(p)).values[0] == sign);
    }
  }
}

TEST_CASE("the first pivot that is zero is told, whichever panel it is in", "[factor][lu]") {
  for (const DType dtype : kReal) {
    for (const Dim at : {0, 15, 16, 63, 64, 100, 129}) {
      // A row that stands there twice, and behind it a column of zeros.
      Nd identity = nd_of(eye(130, dtype));
      for (Dim j = 0; j < 130; ++j) identity.at({at, j}) = at == 0 ? 0 : identity.at({at - 1, j});
      for (Dim i = 0; i < 130; ++i) identity.at({i, 129}) = 0;
      const Tensor a = tensor_of(identity, dtype);
      CHECK(error_of([&] { ops::inv(a); }, ErrorKind::Value) ==
            "inv: the matrix is singular: pivot " + std::to_string(at + 1) + " is zero");
      CHECK(nd_of(ops::det(a)).values[0] == 0);
    }
  }
}

TEST_CASE("what is not finite stays where it belongs", "[factor][lu]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const DType dtype : kReal) {
    for (const Dim n : {14, 100}) {
      // Right-hand sides do not meet.
      const Tensor a = well_conditioned(noise({n, n}, dtype));
      Nd sides = nd_of(noise({n, 60}, dtype, 2));
      const Tensor expected = ops::solve(a, tensor_of(sides, dtype));
      sides.at({n - 1, 3}) = infinity;
      sides.at({0, 50}) = nan;
      const Nd found = nd_of(ops::solve(a, tensor_of(sides, dtype))), finite = nd_of(expected);
      for (Dim i = 0; i < n; ++i) {
        for (Dim j = 0; j < 60; ++j) {
          if (j == 3 || j == 50) CHECK(!std::isfinite(found.at({i, j})));
          if (j != 3 && j != 50) CHECK(found.at({i, j}) == finite.at({i, j}));
        }
      }
      // An infinite pivot has an inverse, a nan spreads, and neither is called singular.
      Nd diagonal = nd_of(eye(n, dtype));
      diagonal.at({n / 2, n / 2}) = infinity;
      const Nd inverse = nd_of(ops::inv(tensor_of(diagonal, dtype)));
      for (Dim i = 0; i < n; ++i)
        for (Dim j = 0; j < n; ++j) CHECK(inverse.at({i, j}) == (i == j && i != n / 2 ? 1 : 0));
      for (const Dim place : {Dim{0}, n - 1}) {
        Nd spoiled = nd_of(a);
        spoiled.at({place, place}) = nan;
        CHECK(std::isnan(nd_of(ops::det(tensor_of(spoiled, dtype))).values[0]));
        for (const double value : nd_of(ops::inv(tensor_of(spoiled, dtype))).values) CHECK(std::isnan(value));
      }
    }
  }
}

TEST_CASE("pivots whose reciprocals are infinite divide", "[factor][lu]") {
  // The lower triangle of ones takes differences, which are exact for subnormals.
  const Tensor a = ops::tril(ops::ones(Dims{20, 20}, DType::F32)) * 1e-40;
  const Tensor b = noise({20, 3}, DType::F32) * 1e-39;
  const auto pivot = static_cast<float>(nd_of(a).values[0]);
  const Nd sides = nd_of(b), found = nd_of(ops::solve(a, b));
  for (Dim i = 0; i < 20; ++i) {
    for (Dim j = 0; j < 3; ++j) {
      const double difference = sides.at({i, j}) - (i == 0 ? 0 : sides.at({i - 1, j}));
      CHECK(found.at({i, j}) == static_cast<double>(static_cast<float>(difference) / pivot));
    }
  }
}

TEST_CASE("bits of inverses and solutions depend on elements alone", "[factor][lu]") {
  const int threads = num_threads();
  for (const DType dtype : kReal) {
    for (const Dim n : {64, 130, 257}) {
      CAPTURE(name(dtype), n);
      const Tensor a = noise({n, n}, dtype), b = noise({n, 101}, dtype, 2);
      set_num_threads(1);
      const Tensor inverse = ops::inv(a), solution = ops::solve(a, b);
      for (const int count : {1, 2, 5}) {
        set_num_threads(count);
        for (const Lay lay : kLays) {
          CHECK(same_bytes(ops::inv(laid_out(a, lay)), inverse));
          CHECK(same_bytes(ops::solve(laid_out(a, lay), laid_out(b, lay)), solution));
        }
        // Each right-hand side alone, and from the right.
        CHECK(same_bytes(ops::solve(a, ops::contiguous(ops::select(b, 1, 70))),
                         ops::contiguous(ops::select(solution, 1, 70))));
        CHECK(
            same_bytes(ops::contiguous(linalg::t(ops::solve(linalg::t(a), linalg::t(b), false))), solution));
      }
    }
  }
  set_num_threads(threads);
}

}  // namespace kiln::lu_test
