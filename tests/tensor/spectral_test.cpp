// Eigenvalues, singular values and orthonormal bases: sizes around borders of blocks, every instruction set,
// repeated and extreme values.
#include <limits>

#include "every_isa.h"
#include "long_matrices.h"
#include "tensor/parallel.h"

namespace kiln::spectral_test {

using namespace kiln::test;

namespace {

constexpr Dim kBorders[] = {11, 12, 13, 16, 17, 31, 32, 33, 34, 48, 49, 63, 64, 65, 66, 97};
const DType kReal[] = {DType::F32, DType::F64};

Matrix scaled_columns(Matrix x, const Nd& by) {
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] *= by.values[i % static_cast<std::size_t>(x.columns)];
  return x;
}
long double most(const Matrix& x) {
  long double result = 0;
  for (const long double value : x.values) result = std::max(result, std::abs(value));
  return result;
}
void check_orthonormal_columns(const Matrix& x, const Tensor& of) {
  CHECK(distance(product(transposed(x), x), identity(x.columns)) < tolerance(of));
}

// Vectors are orthonormal and keep their directions; values rise, and are those of the other algorithm.
void check_eigh(const Tensor& a) {
  const Tensors found = ops::eigh(a);
  const Matrix all = matrices_of(a)[0], v = matrices_of(found[1])[0];
  const Nd values = nd_of(found[0]), alone = nd_of(call("eigvalsh", {a}));
  const long double size = most(all);
  CHECK(distance(product(all, v), scaled_columns(v, values)) <= tolerance(a) * size);
  check_orthonormal_columns(v, a);
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    CHECK(std::abs(alone.values[i] - values.values[i]) <= tolerance(a) * size);
    if (i > 0) CHECK(values.values[i - 1] <= values.values[i]);
  }
}
void check_svd(const Tensor& a) {
  const Tensors found = ops::thin_svd(a);
  const Matrix all = matrices_of(a)[0], u = matrices_of(found[0])[0], vh = matrices_of(found[2])[0];
  const Nd values = nd_of(found[1]), alone = nd_of(ops::svdvals(a));
  const long double size = most(all);
  CHECK(distance(product(scaled_columns(u, values), vh), all) <= tolerance(a) * size);
  check_orthonormal_columns(u, a);
  check_orthonormal_columns(transposed(vh), a);
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    CHECK(std::abs(alone.values[i] - values.values[i]) <= tolerance(a) * size);
    CHECK(values.values[i] >= 0);
    if (i > 0) CHECK(values.values[i] <= values.values[i - 1]);
  }
}
void check_qr(const Tensor& a) {
  for (const char* mode : {"reduced", "complete"}) {
    const Tensors qr = call_all("qr", {a}, {std::string(mode)});
    CHECK(same_bytes(qr[1], ops::triu(qr[1])));
    const Matrix q = matrices_of(qr[0])[0];
    CHECK(distance(product(q, matrices_of(qr[1])[0]), matrices_of(a)[0]) < tolerance(a));
    check_orthonormal_columns(q, a);
  }
}

Tensor diagonal_of(Dim n, DType dtype, const std::function<double(Dim)>& value) {
  return tensor_of(build({n, n}, [&](const Dims& at) { return at[0] == at[1] ? value(at[0]) : 0; }), dtype);
}
// q diag(values) q', with columns of some orthonormal q.
Tensor with_eigenvalues(Dim n, DType dtype, const std::function<double(Dim)>& value) {
  const Tensor q = ops::qr(noise({n, n}, dtype, 11))[0];
  return linalg::symmetric(ops::matmul(ops::matmul(q, diagonal_of(n, dtype, value)), linalg::t(q)));
}

}  // namespace

TEST_CASE("eigenvectors of sizes around the borders of blocks", "[factor][spectral]") {
  every_isa([] {
    for (const DType dtype : kReal) {
      for (const Dim n : kBorders) {
        CAPTURE(name(dtype), n);
        check_eigh(linalg::symmetric(noise({n, n}, dtype)));
      }
    }
  });
}

TEST_CASE("singular values and bases of square, wide and tall matrices", "[factor][spectral]") {
  for (const DType dtype : kReal) {
    for (const Dim n : {13, 33, 97}) {
      CAPTURE(name(dtype), n);
      for (const Dims& sizes : {Dims{n, n}, Dims{n + 9, n}, Dims{n, n + 9}, Dims{2 * n, n}, Dims{n, 2 * n}}) {
        check_svd(noise(sizes, dtype));
        check_qr(noise(sizes, dtype));
      }
    }
  }
}

TEST_CASE("values that are repeated, graded, zero or extreme", "[factor][spectral]") {
  for (const DType dtype : kReal) {
    for (const Dim n : {40, 100}) {
      CAPTURE(name(dtype), n);
      const auto check = [](const Tensor& a) {
        check_eigh(a);
        check_svd(a);
      };
      check(ops::zeros(Dims{n, n}, dtype));
      check(diagonal_of(n, dtype, [](Dim) { return 1.0; }));
      check(diagonal_of(n, dtype, [](Dim i) { return static_cast<double>(i % 3) - 1; }));
      check(ops::ones(Dims{n, n}, dtype));
      check(with_eigenvalues(n, dtype, [](Dim i) { return i % 2 == 0 ? 1.0 : 1 + 1e-6; }));
      check(with_eigenvalues(n, dtype, [](Dim i) { return std::pow(0.5, static_cast<double>(i)); }));
      check(with_eigenvalues(n, dtype, [](Dim i) { return i == 0 ? 1.0 : 0.0; }));
      // Wilkinson's: values in pairs that agree to all digits.
      check(tensor_of(build({n, n},
                            [&](const Dims& at) {
                              const double middle = static_cast<double>(n - 1) / 2;
                              if (at[0] == at[1]) return std::abs(static_cast<double>(at[0]) - middle);
                              return std::abs(at[0] - at[1]) == 1 ? 1.0 : 0.0;
                            }),
                      dtype));
      // Squares of these are beyond the range of the type.
      const double far = dtype == DType::F32 ? 1e36 : 1e300;
      check(linalg::symmetric(noise({n, n}, dtype)) * far);
      check(linalg::symmetric(noise({n, n}, dtype)) * (1 / far));
    }
  }
}

// Matrices on which halves are hard to join: values that agree to all digits or nearly, shares of very
// different size, borders that are nearly zero.
TEST_CASE("eigenvectors of tridiagonal matrices with close values and weak borders", "[factor][spectral]") {
  const auto wilkinson = [](Dim i) { return std::abs(static_cast<double>(i % 21) - 10) / 10; };
  const auto sign = [](Dim i) { return i % 3 == 0 ? -1.0 : 1.0; };
  const auto power = [](double base, Dim i) { return std::pow(base, static_cast<double>(i)); };
  using Elements = std::function<double(Dim)>;
  const std::pair<Elements, Elements> kinds[] = {
      {wilkinson, [](Dim i) { return i % 21 == 20 ? 1e-8 : 0.1; }},
      {wilkinson, [](Dim i) { return i % 21 == 20 ? 1e-14 : 0.1; }},
      {[](Dim) { return 0.0; }, sign},
      {[](Dim) { return 2.0; }, [](Dim) { return -1.0; }},
      {[](Dim i) { return i % 2 == 0 ? 1.0 : -1.0; }, [](Dim) { return 1e-4; }},
      {[](Dim) { return 1.0; }, [&](Dim i) { return power(0.1, i % 17); }},
      {[&](Dim i) { return power(0.8, i); }, [&](Dim i) { return sign(i) * power(0.8, i) / 2; }},
      {[&](Dim i) { return power(1.3, i % 40 - 39); }, [&](Dim i) { return power(1.3, i % 40 - 39); }},
      {[](Dim i) { return static_cast<double>(i * i % 7) / 7; },
       [](Dim i) { return i % 5 == 0 ? 0.0 : 1e-6; }},
      {[](Dim i) { return static_cast<double>(i); }, [](Dim) { return 1.0; }},
  };
  every_isa([&] {
    for (const DType dtype : kReal) {
      for (const Dim n : {12, 45, 84, 130}) {
        for (const auto& [diagonal, beside] : kinds) {
          CAPTURE(name(dtype), n, diagonal(3), beside(3));
          check_eigh(tensor_of(build({n, n},
                                     [&](const Dims& at) {
                                       if (at[0] == at[1]) return diagonal(at[0]);
                                       return std::abs(at[0] - at[1]) == 1 ? beside(std::min(at[0], at[1]))
                                                                           : 0.0;
                                     }),
                               dtype));
        }
      }
    }
  });
}

TEST_CASE("what is not finite in one matrix of a batch does not touch the others", "[factor][spectral]") {
  const Tensor batch = noise({3, 70, 70}, DType::F32);
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Nd spoiled = nd_of(batch);
    spoiled.at({0, 40, 20}) = value;
    const Tensor a = tensor_of(spoiled, DType::F32);
    const Tensors expected = ops::qr(batch), found = ops::qr(a);
    for (const std::size_t part : {0, 1})
      for (const Dim i : {1, 2})
        CHECK(same_bytes(ops::contiguous(ops::select(found[part], 0, i)),
                         ops::contiguous(ops::select(expected[part], 0, i))));
    CHECK(error_of([&] { ops::eigh(a); }, ErrorKind::Value) ==
          "eigh: batch element 0 holds a value that is not finite");
    CHECK(error_of([&] { ops::thin_svd(a); }, ErrorKind::Value) ==
          "thin_svd: batch element 0 holds a value that is not finite");
    // Only one triangle is read.
    const Tensors upper = call_all("eigh", {a}, {std::string("U")});
    CHECK(same_bytes(upper[1], call_all("eigh", {batch}, {std::string("U")})[1]));
  }
}

TEST_CASE("bits of spectra depend on elements alone", "[factor][spectral]") {
  const int threads = num_threads();
  for (const DType dtype : kReal) {
    for (const Dim n : {64, 200}) {
      CAPTURE(name(dtype), n);
      const Tensor a = noise({n + 5, n}, dtype), s = linalg::symmetric(noise({n, n}, dtype));
      const auto all = [](const Tensor& x, const Tensor& y) {
        std::vector<Tensor> results;
        for (const Tensors& more : {ops::eigh(y), ops::thin_svd(x), ops::thin_svd(linalg::t(x)), ops::qr(x)})
          results.insert(results.end(), more.begin(), more.end());
        return results;
      };
      set_num_threads(1);
      const std::vector<Tensor> expected = all(a, s);
      for (const int count : {1, 2, 5}) {
        set_num_threads(count);
        for (const Lay lay : kLays) {
          const std::vector<Tensor> found = all(laid_out(a, lay), laid_out(s, lay));
          for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bytes(found[i], expected[i]));
        }
      }
    }
  }
  set_num_threads(threads);
}

}  // namespace kiln::spectral_test
