// Factorizations against products of their factors in long double: every dtype, batch, layout and size.
#include <cmath>

#include "long_matrices.h"
#include "tensor/autograd.h"
#include "tensor/parallel.h"

namespace kiln::factor_test {

using namespace kiln::test;

namespace {

const Dims kSquares[] = {{1, 1}, {2, 2}, {5, 5}, {33, 33}, {3, 4, 4}, {2, 3, 13, 13}, {100, 100}};
const Dims kRectangles[] = {{1, 1}, {4, 4}, {7, 3}, {3, 7}, {2, 5, 2}, {2, 3, 1, 4}, {60, 41}, {20, 90}};

void for_each_matrix(std::span<const Dims> shapes, const std::function<void(const Tensor&)>& f) {
  for (const Dims& sizes : shapes) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      for (const Lay lay : kLays) {
        CAPTURE(to_string(sizes), name(dtype), static_cast<int>(lay));
        f(laid_out(noise(sizes, dtype), lay));
      }
    }
  }
}

}  // namespace

TEST_CASE("an inverse times its matrix is the identity", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Tensor a = well_conditioned(x);
    const Tensor inverse = ops::inv(a);
    CHECK(inverse.type() == a.type());
    const auto left = matrices_of(inverse), right = matrices_of(a);
    for (std::size_t i = 0; i < left.size(); ++i)
      CHECK(distance(product(left[i], right[i]), identity(a.size(a.rank() - 1))) < tolerance(a));
  });
}

TEST_CASE("solutions satisfy their equations", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Tensor a = well_conditioned(x);
    const Dim n = a.size(a.rank() - 1);
    Dims sizes = a.sizes();
    for (const Dim columns : {Dim{1}, Dim{3}, Dim{140}}) {
      sizes.back() = columns;
      const Tensor b = noise(sizes, a.dtype(), 2);
      for (const bool left : {true, false}) {
        const Tensor side = left ? b : linalg::t(b);
        const auto found = matrices_of(ops::solve(a, side, left)), sides = matrices_of(side);
        const auto all = matrices_of(a);
        for (std::size_t i = 0; i < all.size(); ++i)
          CHECK(distance(left ? product(all[i], found[i]) : product(found[i], all[i]), sides[i]) <
                tolerance(a));
      }
    }
    // One vector for each matrix, and one for all.
    sizes.pop_back();
    const Tensor each = noise(sizes, a.dtype(), 3);
    const Tensor one = noise({n}, a.dtype(), 4);
    CHECK(same_bytes(ops::solve(a, each), ops::squeeze(ops::solve(a, linalg::column(each)), Dims{-1})));
    CHECK(same_bytes(ops::solve(a, one), ops::squeeze(ops::solve(a, linalg::column(one)), Dims{-1})));
  });
}

TEST_CASE("batches of both sides of a system broadcast", "[factor]") {
  const Tensor a = well_conditioned(noise({2, 1, 3, 3}, DType::F64));
  const Tensor b = noise({4, 3, 2}, DType::F64, 2);
  const Tensor x = ops::solve(a, b);
  CHECK(x.sizes() == Dims{2, 4, 3, 2});
  const auto found = matrices_of(ops::matmul(a, x)), sides = matrices_of(b);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], sides[i % 4]) < tolerance(a));
}

TEST_CASE("triangular systems read their triangle only", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Tensor a = well_conditioned(x);
    const Tensor wide = noise(a.sizes(), a.dtype(), 5);
    for (const bool upper : {false, true}) {
      for (const bool unit : {false, true}) {
        const Dim n = a.size(a.rank() - 1);
        // Small elements off the diagonal: a unit triangle may be ill-conditioned otherwise.
        const Tensor scaled = unit ? a / static_cast<double>(n) : a;
        const Tensor strict = upper ? ops::triu(scaled, 1) : ops::tril(scaled, -1);
        const Tensor triangle =
            strict + (unit ? linalg::eye(n, a.type()) : linalg::diagonal_matrix(linalg::diagonal(scaled)));
        for (const bool left : {false, true}) {
          const auto found = matrices_of(ops::solve_triangular(scaled, wide, upper, left, unit));
          const auto all = matrices_of(triangle), sides = matrices_of(wide);
          for (std::size_t i = 0; i < all.size(); ++i)
            CHECK(distance(left ? product(all[i], found[i]) : product(found[i], all[i]), sides[i]) <
                  tolerance(a));
        }
      }
    }
  });
}

TEST_CASE("Cholesky factors are triangular and multiply to their matrix", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Tensor a = positive_definite(x);
    const Dim n = a.size(a.rank() - 1);
    for (const bool upper : {false, true}) {
      // What is in the other triangle does not matter.
      const Tensor half = upper ? ops::triu(a) + ops::tril(noise(a.sizes(), a.dtype(), 6), -1)
                                : ops::tril(a) + ops::triu(noise(a.sizes(), a.dtype(), 6), 1);
      const Tensor factor = ops::cholesky(half, upper);
      const auto all = matrices_of(a), factors = matrices_of(factor);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Matrix l = upper ? transposed(factors[i]) : factors[i];
        CHECK(distance(product(l, transposed(l)), all[i]) < tolerance(a) * static_cast<long double>(3 * n));
      }
      CHECK(same_bytes(factor, upper ? ops::triu(factor) : ops::tril(factor)));
    }
  });
}

TEST_CASE("determinants of products of triangles are known", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Dim n = x.size(x.rank() - 1);
    const Tensor lower = ops::tril(x, -1) * (1.0 / static_cast<double>(n)) + linalg::eye(n, x.type());
    const Tensor ones = linalg::diagonal(lower);
    const Tensor pivots = ops::where(ops::lt(linalg::diagonal(x), Tensor::number(0.0)), -ones * 1.25, ones);
    const Tensor a = ops::matmul(lower, linalg::diagonal_matrix(pivots));
    const Nd found = nd_of(ops::det(a));
    const Nd signs = nd_of(call_all("slogdet", {a})[0]), logs = nd_of(call_all("slogdet", {a})[1]);
    const Nd all = nd_of(pivots);
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      long double expected = 1;
      for (Dim k = 0; k < n; ++k)
        expected *= all.values[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(k)];
      CHECK(std::abs(found.values[i] / static_cast<double>(expected) - 1) < tolerance(a));
      CHECK(signs.values[i] == (expected < 0 ? -1 : 1));
      CHECK(std::abs(logs.values[i] - static_cast<double>(std::log(std::abs(expected)))) < tolerance(a));
    }
  });
}

TEST_CASE("Q has orthonormal columns, R is triangular, and they multiply to their matrix", "[factor]") {
  for_each_matrix(kRectangles, [](const Tensor& a) {
    const Dim m = a.size(a.rank() - 2), n = a.size(a.rank() - 1), k = std::min(m, n);
    const auto all = matrices_of(a);
    for (const char* mode : {"reduced", "complete"}) {
      const Tensors qr = call_all("qr", {a}, {std::string(mode)});
      CHECK(qr[0].size(a.rank() - 1) == (mode[0] == 'r' ? k : m));
      CHECK(same_bytes(qr[1], ops::triu(qr[1])));
      const auto q = matrices_of(qr[0]), r = matrices_of(qr[1]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(distance(product(q[i], r[i]), all[i]) < tolerance(a));
        CHECK(distance(product(transposed(q[i]), q[i]), identity(q[i].columns)) < tolerance(a));
      }
    }
    const Tensors only = call_all("qr", {a}, {std::string("r")});
    CHECK(only[0].sizes() == Dims{0});
    CHECK(same_bytes(only[1], ops::qr(a)[1]));
  });
}

TEST_CASE("singular vectors are orthonormal and multiply to their matrix", "[factor]") {
  for_each_matrix(kRectangles, [](const Tensor& a) {
    const Dim m = a.size(a.rank() - 2), n = a.size(a.rank() - 1), k = std::min(m, n);
    const auto all = matrices_of(a);
    for (const bool full : {false, true}) {
      const Tensors usv = call_all("svd", {a}, {full});
      const auto u = matrices_of(usv[0]), vh = matrices_of(usv[2]);
      CHECK(usv[0].size(a.rank() - 1) == (full ? m : k));
      CHECK(usv[2].size(a.rank() - 2) == (full ? n : k));
      const Nd s = nd_of(usv[1]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        Matrix scaled{m, n, {}};
        for (Dim row = 0; row < m; ++row) {
          for (Dim column = 0; column < n; ++column) {
            long double sum = 0;
            for (Dim j = 0; j < k; ++j)
              sum += u[i].at(row, j) *
                     static_cast<long double>(
                         s.values[i * static_cast<std::size_t>(k) + static_cast<std::size_t>(j)]) *
                     vh[i].at(j, column);
            scaled.values.push_back(sum);
          }
        }
        CHECK(distance(scaled, all[i]) < tolerance(a));
        CHECK(distance(product(transposed(u[i]), u[i]), identity(u[i].columns)) < tolerance(a));
        CHECK(distance(product(vh[i], transposed(vh[i])), identity(vh[i].rows)) < tolerance(a));
      }
      const Nd alone = nd_of(ops::svdvals(a));
      for (std::size_t i = 0; i < s.values.size(); ++i) {
        CHECK(std::abs(alone.values[i] - s.values[i]) < tolerance(a));
        CHECK(s.values[i] >= 0);
        if (i % static_cast<std::size_t>(k) != 0) CHECK(s.values[i] <= s.values[i - 1]);
      }
    }
  });
}

TEST_CASE("eigenvectors are orthonormal and keep their direction", "[factor]") {
  for_each_matrix(kSquares, [](const Tensor& x) {
    const Tensor a = linalg::symmetric(x);
    const Dim n = a.size(a.rank() - 1);
    const auto all = matrices_of(a);
    for (const char* triangle : {"L", "U"}) {
      const Tensor half = triangle[0] == 'L' ? ops::tril(a) : ops::triu(a);
      const Tensors found = call_all("eigh", {half}, {std::string(triangle)});
      const auto v = matrices_of(found[1]), scaled = matrices_of(found[1] * linalg::row(found[0]));
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(distance(product(all[i], v[i]), scaled[i]) < tolerance(a));
        CHECK(distance(product(transposed(v[i]), v[i]), identity(n)) < tolerance(a));
      }
      const Nd values = nd_of(found[0]), alone = nd_of(call("eigvalsh", {half}, {std::string(triangle)}));
      for (std::size_t i = 0; i < values.values.size(); ++i) {
        CHECK(std::abs(alone.values[i] - values.values[i]) < tolerance(a));
        if (i % static_cast<std::size_t>(n) != 0) CHECK(values.values[i - 1] <= values.values[i]);
      }
    }
  });
}

TEST_CASE("empty matrices and empty batches", "[factor]") {
  const auto empty = [](Dims sizes) { return ops::zeros(sizes, DType::F32); };
  check_equal(ops::det(empty({0, 0})), Nd{{}, {1}});
  check_equal(ops::det(empty({2, 0, 0})), Nd{{2}, {1, 1}});
  CHECK(ops::inv(empty({0, 3, 3})).sizes() == Dims{0, 3, 3});
  CHECK(ops::inv(empty({0, 0})).sizes() == Dims{0, 0});
  CHECK(ops::cholesky(empty({0, 0})).sizes() == Dims{0, 0});
  CHECK(ops::solve(empty({0, 0}), empty({0, 2})).sizes() == Dims{0, 2});
  CHECK(ops::solve(ops::ones(Dims{1, 1}), empty({1, 0})).sizes() == Dims{1, 0});
  CHECK(ops::cofactor(empty({0, 0})).sizes() == Dims{0, 0});
  CHECK(ops::eigh(empty({2, 0, 0}))[0].sizes() == Dims{2, 0});
  for (const Dims& sizes : {Dims{0, 3}, Dims{3, 0}, Dims{0, 0}, Dims{2, 3, 0}}) {
    const Dim m = sizes[sizes.size() - 2], n = sizes.back();
    const Tensors qr = call_all("qr", {empty(sizes)}, {std::string("complete")});
    const Tensors usv = call_all("svd", {empty(sizes)});
    CHECK(matrices_of(qr[0]).size() == matrices_of(usv[0]).size());
    for (const auto& all : {matrices_of(qr[0]), matrices_of(usv[0])})
      for (const Matrix& q : all) CHECK(distance(product(transposed(q), q), identity(m)) == 0);
    for (const Matrix& q : matrices_of(usv[2])) CHECK(distance(product(transposed(q), q), identity(n)) == 0);
  }
}

TEST_CASE("factorizations have the same bits on any number of threads and anywhere in a batch", "[factor]") {
  const int threads = num_threads();
  const auto all = [](const Tensor& a) {
    const Tensor symmetric = positive_definite(a);
    std::vector<Tensor> results{ops::inv(a), ops::solve(a, symmetric), ops::det(a), ops::cholesky(symmetric),
                                ops::svdvals(a)};
    for (const Tensors& more : {ops::qr(a), ops::thin_svd(a), ops::eigh(symmetric)})
      results.insert(results.end(), more.begin(), more.end());
    return results;
  };
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const Dims& sizes : {Dims{500, 500}, Dims{7, 40, 40}, Dims{300, 4, 4}}) {
      const Tensor a = noise(sizes, dtype);
      CAPTURE(name(dtype), to_string(sizes));
      set_num_threads(1);
      const std::vector<Tensor> expected = all(a);
      for (const int count : {2, 5}) {
        set_num_threads(count);
        const std::vector<Tensor> found = all(a);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bytes(found[i], expected[i]));
      }
      if (sizes.size() == 2) continue;
      const std::vector<Tensor> alone = all(ops::contiguous(ops::select(a, 0, 3)));
      for (std::size_t i = 0; i < alone.size(); ++i)
        CHECK(same_bytes(alone[i], ops::contiguous(ops::select(expected[i], 0, 3))));
    }
  }
  set_num_threads(threads);
}

TEST_CASE("the gradient of a determinant is right where it vanishes", "[factor]") {
  const Tensor a = tensor_of(Nd{{3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1}});
  set_requires_grad(a, true);
  backward(ops::det(a));
  const Nd found = nd_of(grad_of(a));
  const double expected[] = {4, 4, -4, -2, -2, 2, 0, 0, 0};  // the cofactors, by hand
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::abs(found.values[i] - expected[i]) < 1e-12);
}

TEST_CASE("gradients of symmetric matrices are symmetric", "[factor]") {
  for (const char* name : {"cholesky", "eigh", "eigvalsh"}) {
    const Tensor a = positive_definite(noise({4, 4}, DType::F64));
    set_requires_grad(a, true);
    const Tensor first = call_all(name, {a}).back();
    backward(ops::sum(first * noise(first.sizes(), DType::F64, 9)));
    CAPTURE(name);
    const auto grad = matrices_of(grad_of(a));
    CHECK(distance(grad[0], transposed(grad[0])) < 1e-14L);
  }
}

TEST_CASE("gradients through singular values alone need no distinct ones", "[factor]") {
  const Tensor a = ops::contiguous(linalg::eye(3, {DType::F64, Device{}, {}}));
  set_requires_grad(a, true);
  backward(ops::sum(call_all("svd", {a})[1]));
  backward(ops::sum(ops::eigh(a)[0]));
  CHECK(distance(matrices_of(grad_of(a))[0], matrices_of(linalg::eye(3, a.type()) * 2.0)[0]) < 1e-14L);
}

TEST_CASE("factorizations that cannot be say why", "[factor]") {
  const auto f32 = [](Dims sizes) { return ops::ones(sizes, DType::F32); };
  const auto says = [](ErrorKind kind, const std::function<void()>& f) { return error_of(f, kind); };
  CHECK(says(ErrorKind::Value, [&] { ops::inv(f32({2, 2})); }) ==
        "inv: the matrix is singular: pivot 2 is zero");
  const Tensor parts[] = {linalg::eye(2, f32({2, 2}).type()), f32({2, 2})};
  const Tensor stacked = ops::stack(parts);
  CHECK(says(ErrorKind::Value, [&] { ops::inv(stacked); }) ==
        "inv: batch element 1 is singular: pivot 2 is zero");
  CHECK(says(ErrorKind::Value, [&] { ops::solve(ops::unsqueeze(stacked, 0), f32({2, 1})); }) ==
        "solve: batch element [0, 1] is singular: pivot 2 is zero");
  CHECK(says(ErrorKind::Value, [&] { ops::cholesky(f32({2, 2})); }) ==
        "cholesky: the matrix is not positive-definite: its leading minor of order 2 is not positive");
  CHECK(says(ErrorKind::Value, [&] { ops::svdvals(ops::log(-f32({2, 2}))); }) ==
        "svdvals: the matrix holds a value that is not finite");
  CHECK(says(ErrorKind::Value, [&] { ops::eigh(ops::log(-f32({2, 2}))); }) ==
        "eigh: the matrix holds a value that is not finite");
  CHECK(says(ErrorKind::Shape, [&] { ops::inv(f32({3})); }) ==
        "inv: expects a matrix or a batch of matrices, got f32[3]");
  CHECK(says(ErrorKind::Shape, [&] { ops::det(f32({2, 3})); }) ==
        "det: expects square matrices, got f32[2, 3]: 2 by 3");
  CHECK(says(ErrorKind::DType, [&] { ops::inv(ops::zeros(Dims{1, 1}, DType::I64)); }) ==
        "inv: expects floats, got i64[1, 1]");
  CHECK(says(ErrorKind::DType, [&] { ops::qr(ops::zeros(Dims{1, 1}, DType::F16)); }) ==
        "qr: low precision is not supported, got f16[1, 1]");
  CHECK(says(ErrorKind::DType, [&] { ops::solve(f32({2, 2}), ops::ones(Dims{2}, DType::F64)); }) ==
        "solve: operands have dtypes f32 and f64");
  CHECK(says(ErrorKind::Shape, [&] { ops::solve(f32({3, 3}), f32({2, 4})); }) ==
        "solve: f32[3, 3] and f32[2, 4] do not fit: 3 equations, 2 rows of the right-hand side");
  CHECK(says(ErrorKind::Shape, [&] { ops::solve(f32({3, 3}), f32({2, 4}), false); }) ==
        "solve: f32[3, 3] and f32[2, 4] do not fit: 3 equations, 4 columns of the right-hand side");
  CHECK(says(ErrorKind::Shape, [&] { ops::solve(f32({2, 3, 3}), f32({4, 3, 1})); }) ==
        "solve: f32[2, 3, 3] and f32[4, 3, 1] do not fit: batch sizes [2] and [4] do not broadcast");
  CHECK(says(ErrorKind::Shape, [&] { ops::solve(f32({3, 3}), f32({3}), false); }) ==
        "solve: f32[3, 3] and f32[3] do not fit: x A = b for a vector b is not supported");
  CHECK(says(ErrorKind::Value, [&] { call("qr", {f32({2, 2})}, {std::string("thin")}); }) ==
        "qr: mode is \"reduced\", \"complete\" or \"r\", not \"thin\"");
  CHECK(says(ErrorKind::Value, [&] { call("eigh", {f32({2, 2})}, {std::string("X")}); }) ==
        "eigh: UPLO is \"L\" or \"U\", not \"X\"");
}

TEST_CASE("derivatives that do not exist are refused with a way out", "[factor]") {
  const auto refusal = [](const char* op, const Dims& sizes, std::initializer_list<Attr> attrs,
                          std::size_t output) {
    const Tensor a = noise(sizes, DType::F64);
    set_requires_grad(a, true);
    return error_of([&] { backward(ops::sum(call_all(op, {a}, attrs)[output])); }, ErrorKind::Autograd);
  };
  CHECK(refusal("svd", {3, 2}, {true}, 0) ==
        "the columns that complete a basis (complement, svd with full_matrices=true) have no derivative: "
        "they are "
        "an arbitrary basis of a subspace");
  CHECK(refusal("svd", {3, 2}, {true}, 1) == "no error");
  CHECK(refusal("svd", {3, 2}, {true}, 2) == "no error");
  CHECK(refusal("qr", {3, 2}, {std::string("complete")}, 1) ==
        "qr: with mode=\"complete\" and 3 rows but 2 columns there is no derivative: beyond the first 2 "
        "the columns of Q are an arbitrary basis");
  CHECK(refusal("qr", {2, 3}, {std::string("complete")}, 1) == "no error");
  CHECK(refusal("qr", {2, 3}, {std::string("r")}, 1) ==
        "qr: with mode=\"r\" there is no derivative: it depends on Q, which is not computed");
}

}  // namespace kiln::factor_test
