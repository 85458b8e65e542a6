// Factorizations of complex matrices and what is computed from them: that they are what they are called, at
// orders of plain loops and of the library, and their derivatives against differences of both parts.
#include <catch2/catch.hpp>

#include "tensor/autograd.h"
#include "tensor/ops/linalg.h"
#include "tests/tensor/gradcheck.h"
#include "tests/tensor/samples.h"

namespace kiln::complex_linalg_test {

using namespace kiln::testing;

namespace {

Tensors applied(std::string_view name, const std::vector<Tensor>& inputs,
                const std::vector<NamedAttr>& attrs = {}) {
  const Op& row = OpTable::get().at(name);
  return kiln::bind(row, inputs, attrs_of(row, attrs));
}
Tensor adjoint(const Tensor& x) { return linalg::t(x); }
Tensor complex_matrix(Dim rows, Dim columns, int seed, DType part = DType::F64) {
  const Dims sizes{2, rows, columns};
  return ops::complex(noise(sizes, part, seed, -1, 1), noise(sizes, part, seed + 100, -1, 1));
}
// |a - b| beside the size of b.
double distance(const Tensor& a, const Tensor& b) {
  const auto size = [](const Tensor& x) { return ops::amax(ops::abs(x)).item_float(); };
  return size(a - b) / std::max(1.0, size(b));
}
Tensor ones_on_diagonal(const Tensor& like) { return linalg::eye(linalg::columns_of(like), like.type()); }

std::vector<Tensor> parts_of_results(const Tensors& results) {
  std::vector<Tensor> parts;
  for (const Tensor& each : results) {
    if (!is_complex(each.dtype())) {
      if (is_float(each.dtype())) parts.push_back(each);
      continue;
    }
    parts.push_back(ops::real(each));
    parts.push_back(ops::imag(each));
  }
  return parts;
}

}  // namespace

TEST_CASE("complex matrices are the products of their factors", "[complex][linalg]") {
  for (const DType part : {DType::F32, DType::F64}) {
    const double close = part == DType::F32 ? 2e-5 : 2e-13;
    for (const int n : {1, 3, 12, 13, 40}) {
      INFO("order " << n << " of " << name(part));
      const Tensor a = complex_matrix(n, n, n, part), b = complex_matrix(n, 2, n + 7, part);
      const Tensor one = ones_on_diagonal(a), h = ops::matmul(a, adjoint(a)) + one;
      const double loose = close * 100 * n;
      CHECK(distance(ops::matmul(a, ops::inv(a)), one) < loose);
      CHECK(distance(ops::matmul(a, ops::solve(a, b)), b) < loose);
      CHECK(distance(ops::matmul(ops::solve(a, adjoint(b), false), a), adjoint(b)) < loose);
      const Tensor l = ops::cholesky(h), u = ops::cholesky(h, true);
      CHECK(distance(ops::matmul(l, adjoint(l)), h) < close * n);
      CHECK(distance(ops::matmul(adjoint(u), u), h) < close * n);
      CHECK(distance(u, adjoint(l)) < close * n);
      CHECK(distance(ops::matmul(l, ops::solve_triangular(l, b, false)), b) < close * n);
      CHECK(distance(ops::matmul(adjoint(l), ops::solve_triangular(adjoint(l), b, true)), b) < close * n);
      const Tensors values = ops::eigh(h), of_upper = applied("eigh", {h}, {{"UPLO", std::string("U")}});
      const Tensor& v = values[1];
      CHECK(values[0].dtype() == part);
      CHECK(distance(ops::matmul(h, v), v * linalg::row(values[0])) < close * n * n);
      CHECK(distance(ops::matmul(adjoint(v), v), one) < close * n);
      CHECK(distance(of_upper[1], v) < loose);
      CHECK(distance(applied("eigvalsh", {h})[0], values[0]) < close * n * n);
      const Tensors parts = applied("eig_parts", {a});
      const Tensor w = ops::complex(parts[2], parts[3]);
      CHECK(distance(ops::matmul(a, w), w * linalg::row(ops::complex(parts[0], parts[1]))) < close * n);
      const Tensors lu = applied("lu", {a});
      CHECK(distance(linalg::mm(lu[0], lu[1], lu[2]), a) < close * n);
      const Tensor det = ops::det(a);
      const Tensors sign_and_log = applied("slogdet", {a});
      CHECK(sign_and_log[1].dtype() == part);
      CHECK(distance(sign_and_log[0] * ops::exp(sign_and_log[1]), det) < loose);
      CHECK(distance(ops::exp(applied("logdet", {a})[0]), det) < loose);
    }
    for (const auto& [m, n] : {std::pair{5, 3}, {3, 5}, {30, 20}, {20, 30}}) {
      INFO(m << " by " << n);
      const Tensor a = complex_matrix(m, n, m + n, part);
      const double near = close * (m + n);
      for (const char* mode : {"reduced", "complete"}) {
        const Tensors qr = applied("qr", {a}, {{"mode", std::string(mode)}});
        CHECK(distance(ops::matmul(qr[0], qr[1]), a) < near);
        CHECK(distance(ops::matmul(adjoint(qr[0]), qr[0]), ones_on_diagonal(qr[0])) < near);
        CHECK(distance(ops::imag(linalg::diagonal(qr[1])),
                       ops::zeros_like(ops::imag(linalg::diagonal(qr[1])))) == 0);
      }
      const Tensors svd = ops::thin_svd(a);
      CHECK(svd[1].dtype() == part);
      CHECK(distance(ops::matmul(svd[0] * linalg::row(svd[1]), svd[2]), a) < near);
      CHECK(distance(ops::svdvals(a), svd[1]) < near);
      const Tensors whole = applied("svd", {a});
      CHECK(distance(ops::matmul(adjoint(whole[0]), whole[0]), ones_on_diagonal(whole[0])) < near);
      CHECK(distance(ops::matmul(whole[2], adjoint(whole[2])), ones_on_diagonal(whole[2])) < near);
      const Tensor p = applied("pinv", {a})[0];
      CHECK(distance(linalg::mm(a, p, a), a) < near);
      CHECK(distance(ops::matmul(a, p), adjoint(ops::matmul(a, p))) < near);
      CHECK(distance(ops::matmul(p, a), adjoint(ops::matmul(p, a))) < near);
    }
  }
}

TEST_CASE("derivatives of complex factorizations agree with differences", "[complex][linalg]") {
  struct Case {
    std::string_view name;
    std::vector<NamedAttr> attrs;
    bool is_hermitian = false;
  };
  const std::vector<Case> cases = {
      {"inv", {}},
      {"det", {}},
      {"slogdet", {}},
      {"logdet", {}},
      {"cofactor", {}},
      {"lu_factor", {}},
      {"qr", {}},
      {"thin_svd", {}},
      {"svdvals", {}},
      {"pinv", {}},
      {"matrix_exp", {}},
      {"matrix_power", {{"n", std::int64_t{-2}}}},
      {"eig_parts", {}},
      {"eigvals_parts", {}},
      {"cholesky", {}, true},
      {"cholesky", {{"upper", true}}, true},
      {"eigh", {}, true},
      {"eigvalsh", {{"UPLO", std::string("U")}}, true},
      {"pinv", {{"hermitian", true}}, true},
  };
  for (const auto& [rows, columns] : {std::pair{3, 3}, {4, 2}, {2, 4}}) {
    const Dims sizes{rows, columns};
    const std::vector<Tensor> parts = {noise(sizes, DType::F64, 31, -1, 1),
                                       noise(sizes, DType::F64, 32, -1, 1)};
    for (const Case& each : cases) {
      const bool takes_any = each.name == "qr" || each.name == "thin_svd" || each.name == "svdvals" ||
                             each.name == "lu_factor" || (each.name == "pinv" && !each.is_hermitian);
      if (rows != columns && !takes_any) continue;
      INFO(each.name << " of " << rows << " by " << columns);
      const gradients::Function f = [&](const std::vector<Tensor>& in) {
        Tensor a = ops::complex(in[0], in[1]);
        if (each.is_hermitian) a = ops::matmul(a, adjoint(a)) + ones_on_diagonal(a);
        return parts_of_results(applied(each.name, {a}, each.attrs));
      };
      CHECK(gradients::compare_gradients(f, parts) == "");
    }
  }
}

TEST_CASE("derivatives of complex systems agree with differences", "[complex][linalg]") {
  const auto parts = [](int seed, Dims sizes) { return noise(sizes, DType::F64, seed, -1, 1); };
  const std::vector<Tensor> given = {parts(41, {3, 3}), parts(42, {3, 3}), parts(43, {3, 2}),
                                     parts(44, {3, 2})};
  for (const bool left : {true, false}) {
    const auto sides = [left](const std::vector<Tensor>& in) {
      const Tensor b = ops::complex(in[2], in[3]);
      return left ? b : adjoint(b);
    };
    const gradients::Function solve = [&](const std::vector<Tensor>& in) {
      return parts_of_results({ops::solve(ops::complex(in[0], in[1]), sides(in), left)});
    };
    CHECK(gradients::compare_gradients(solve, given) == "");
    const gradients::Function by_triangle = [&](const std::vector<Tensor>& in) {
      const Tensor a = ops::complex(in[0], in[1]) + 2.0 * ones_on_diagonal(ops::complex(in[0], in[1]));
      return parts_of_results({ops::solve_triangular(a, sides(in), true, left)});
    };
    CHECK(gradients::compare_gradients(by_triangle, given) == "");
  }
}

}  // namespace kiln::complex_linalg_test
