// What is made of factorizations, against definitions computed in long double.
#include <cmath>
#include <map>

#include "nd.h"
#include "tensor/ops/linalg.h"

namespace kiln::matrix_functions_test {

using namespace kiln::test;

namespace {

double unit(DType dtype) { return dtype == DType::F32 ? 0x1p-23 : 0x1p-52; }

void check_near(const Tensor& actual, const Tensor& expected, double tolerance) {
  REQUIRE(actual.sizes() == expected.sizes());
  const Nd a = nd_of(actual), b = nd_of(expected);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    INFO("element " << i << ": " << a.values[i] << ", not " << b.values[i]);
    CHECK(std::abs(a.values[i] - b.values[i]) <= tolerance * std::max(1.0, std::abs(b.values[i])));
  }
}
void check_near(const Tensor& actual, const Nd& expected, double tolerance) {
  check_near(actual, tensor_of(expected), tolerance);
}

void for_each_matrix(std::initializer_list<Dims> shapes, const std::function<void(const Tensor&)>& f) {
  for (const Dims& sizes : shapes) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      for (const Lay lay : kLays) {
        CAPTURE(to_string(sizes), name(dtype), static_cast<int>(lay));
        f(laid_out(noise(sizes, dtype), lay));
      }
    }
  }
}

// A matrix of rank 1 less than it could have.
Tensor deficient(Dim m, Dim n, DType dtype) {
  const Dim rank = std::min(m, n) - 1;
  return ops::matmul(noise({m, rank}, dtype, 3), noise({rank, n}, dtype, 4));
}

}  // namespace

TEST_CASE("pseudoinverses satisfy the four conditions of Penrose", "[factor]") {
  const auto check = [](const Tensor& a, const Tensor& p) {
    const double tolerance = unit(a.dtype()) * 3000;
    const Tensor ap = ops::matmul(a, p), pa = ops::matmul(p, a);
    check_near(ops::matmul(ap, a), a, tolerance);
    check_near(ops::matmul(pa, p), p, tolerance);
    check_near(linalg::t(ap), ap, tolerance);
    check_near(linalg::t(pa), pa, tolerance);
  };
  for_each_matrix({{4, 4}, {5, 2}, {2, 5}, {3, 4, 2}, {1, 1}},
                  [&](const Tensor& a) { check(a, call("pinv", {a})); });
  for (const DType dtype : {DType::F32, DType::F64}) {
    check(deficient(5, 4, dtype), call("pinv", {deficient(5, 4, dtype)}));
    const Tensor a =
        linalg::symmetric(ops::matmul(deficient(4, 4, dtype), linalg::t(deficient(4, 4, dtype))));
    check(a, call("pinv", {a}, {std::monostate{}, std::monostate{}, true}));
  }
  CHECK(call("pinv", {ops::zeros(Dims{3, 0}, DType::F32)}).sizes() == Dims{0, 3});
  check_equal(call("pinv", {ops::zeros(Dims{2, 3}, DType::F32)}), Nd{{3, 2}, {0, 0, 0, 0, 0, 0}});
}

TEST_CASE("least squares leave nothing that the columns could explain", "[factor]") {
  for_each_matrix({{4, 4}, {6, 2}, {2, 5}, {3, 4, 2}}, [](const Tensor& a) {
    const Dim m = a.size(a.rank() - 2), n = a.size(a.rank() - 1);
    Dims sizes = a.sizes();
    sizes.back() = 3;
    const Tensor b = noise(sizes, a.dtype(), 2);
    const Tensors found = call_all("lstsq", {a, b});
    const Tensor rest = ops::matmul(a, found[0]) - b;
    check_near(ops::matmul(linalg::t(a), rest), ops::zeros_like(ops::matmul(linalg::t(a), rest)),
               unit(a.dtype()) * 1000);
    if (m > n) {
      check_near(found[1], ops::sum(rest * rest, Dims{rest.rank() - 2}), unit(a.dtype()) * 1000);
    } else {
      CHECK(found[1].sizes() == Dims{0});
    }
    check_near(ops::to(found[2], DType::F64),
               ops::zeros(linalg::batch_sizes(a.sizes()), DType::F64) + static_cast<double>(std::min(m, n)),
               0);
    check_near(found[3], ops::svdvals(a), 0);
    sizes.pop_back();
    const Tensor vector = noise(sizes, a.dtype(), 3);
    check_near(call("lstsq", {a, vector}), ops::squeeze(call("lstsq", {a, linalg::column(vector)}), Dims{-1}),
               0);
  });
}

TEST_CASE("ranks count singular values above the tolerance", "[factor]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    check_equal(call("matrix_rank", {deficient(6, 4, dtype)}), Nd{{}, {3}});
    check_equal(call("matrix_rank", {ops::zeros(Dims{2, 3, 3}, dtype)}), Nd{{2}, {0, 0}});
    check_equal(call("matrix_rank", {ops::zeros(Dims{0, 3}, dtype)}), Nd{{}, {0}});
    const Tensor a = linalg::diagonal_matrix(tensor_of(Nd{{4}, {8, 4, -2, 1}}, dtype));
    check_equal(call("matrix_rank", {a}), Nd{{}, {4}});
    check_equal(call("matrix_rank", {a}, {3.0}), Nd{{}, {2}});
    check_equal(call("matrix_rank", {a}, {std::monostate{}, 0.2}), Nd{{}, {3}});
    check_equal(call("matrix_rank", {a}, {1.5, 0.3}), Nd{{}, {2}});
    check_equal(call("matrix_rank", {a}, {1.5, std::monostate{}, true}), Nd{{}, {3}});
  }
}

TEST_CASE("norms of matrices are those of their definitions", "[factor]") {
  const double inf = HUGE_VAL;
  for_each_matrix({{3, 4}, {4, 2}, {1, 1}, {2, 3, 4}}, [&](const Tensor& a) {
    const double tolerance = unit(a.dtype()) * 100;
    const Nd x = nd_of(a), s = nd_of(ops::svdvals(a));
    const Dim m = a.size(a.rank() - 2), n = a.size(a.rank() - 1), k = std::min(m, n);
    const Dims batch = linalg::batch_sizes(a.sizes());
    const auto at = [&](std::size_t b, Dim i, Dim j) {
      return std::abs(static_cast<long double>(
          x.values[b * static_cast<std::size_t>(m * n) + static_cast<std::size_t>(i * n + j)]));
    };
    std::map<double, Nd> expected;
    Nd fro{batch, {}}, nuc{batch, {}};
    for (const double order : {1.0, -1.0, 2.0, -2.0, inf, -inf}) expected[order] = Nd{batch, {}};
    for (std::size_t b = 0; b < static_cast<std::size_t>(count_elements(batch)); ++b) {
      std::vector<double> columns, rows;
      long double squares = 0, sum = 0;
      for (Dim j = 0; j < n; ++j) {
        long double column = 0;
        for (Dim i = 0; i < m; ++i) column += at(b, i, j);
        columns.push_back(static_cast<double>(column));
      }
      for (Dim i = 0; i < m; ++i) {
        long double row = 0;
        for (Dim j = 0; j < n; ++j) row += at(b, i, j), squares += at(b, i, j) * at(b, i, j);
        rows.push_back(static_cast<double>(row));
      }
      const auto first = s.values.begin() + static_cast<std::ptrdiff_t>(b) * k;
      for (Dim i = 0; i < k; ++i) sum += first[i];
      fro.values.push_back(static_cast<double>(std::sqrt(squares)));
      nuc.values.push_back(static_cast<double>(sum));
      expected[1.0].values.push_back(*std::max_element(columns.begin(), columns.end()));
      expected[-1.0].values.push_back(*std::min_element(columns.begin(), columns.end()));
      expected[inf].values.push_back(*std::max_element(rows.begin(), rows.end()));
      expected[-inf].values.push_back(*std::min_element(rows.begin(), rows.end()));
      expected[2.0].values.push_back(first[0]);
      expected[-2.0].values.push_back(first[k - 1]);
    }
    check_near(call("matrix_norm", {a}), fro, tolerance);
    check_near(call("matrix_norm", {a}, {std::string("nuc")}), nuc, tolerance);
    for (const auto& [order, norms] : expected)
      check_near(call("matrix_norm.number", {a}, {order}), norms, tolerance);
    const Tensor moved = ops::transpose(a, 0, a.rank() - 1);  // columns first, then rows, then the batch
    const Dims dims{1, 0};
    check_near(call("matrix_norm.number", {moved}, {1.0, dims}), expected[1.0], tolerance);
    const Tensor kept = call("matrix_norm.number", {moved}, {-2.0, dims, true});
    CHECK(kept.rank() == a.rank());
    check_near(ops::reshape(kept, batch), expected[-2.0], tolerance);
  });
}

TEST_CASE("norms of empty matrices are 0, except the smallest of no values", "[factor]") {
  const Tensor none = ops::zeros(Dims{2, 3, 0}, DType::F32);
  for (const double order : {1.0, 2.0, HUGE_VAL, -HUGE_VAL})
    check_equal(call("matrix_norm.number", {none}, {order}), Nd{{2}, {0, 0}});
  check_equal(call("matrix_norm", {none}), Nd{{2}, {0, 0}});
  check_equal(call("matrix_norm", {none}, {std::string("nuc")}), Nd{{2}, {0, 0}});
  CHECK(error_of([&] { call("matrix_norm.number", {none}, {-1.0}); }, ErrorKind::Value) ==
        "matrix_norm: ord=-1 is the smallest of no values in f32[2, 3, 0]");
  CHECK(error_of([&] { call("matrix_norm.number", {none}, {-2.0}); }, ErrorKind::Value) ==
        "matrix_norm: ord=-2 is the smallest of no values in f32[2, 3, 0]");
}

TEST_CASE("matrix_norm says what it does not take", "[factor]") {
  const Tensor x = ops::ones(Dims{2, 3}, DType::F64);
  CHECK(error_of([&] { call("matrix_norm.number", {x}, {3.0}); }, ErrorKind::Value) ==
        "matrix_norm: ord is 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\", not 3");
  CHECK(error_of([&] { call("matrix_norm", {x}, {std::string("max")}); }, ErrorKind::Value) ==
        "matrix_norm: ord is \"fro\", \"nuc\" or a number, not \"max\"");
  CHECK(error_of([&] { call("matrix_norm", {x}, {std::string("fro"), Dims{0, -2}}); }, ErrorKind::Value) ==
        "matrix_norm: the two dimensions must differ, got [0, -2]");
  CHECK(error_of([&] { call("matrix_norm", {x}, {std::string("fro"), Dims{0}}); }, ErrorKind::Value) ==
        "matrix_norm: dim names two dimensions, got [0]");
  CHECK(error_of([&] { call("matrix_norm", {x}, {std::string("fro"), Dims{0, 1}, false, DType::F32}); },
                 ErrorKind::DType) == "matrix_norm: f64 cannot become f32 without losing precision");
  CHECK(error_of([&] { call("matrix_norm.number", {ops::to(x, DType::F16)}, {2.0}); }, ErrorKind::DType) ==
        "matrix_norm: low precision is not supported, got f16[2, 3]");
  CHECK(error_of([&] { call("matrix_norm", {ops::to(x, DType::I64)}); }, ErrorKind::DType) ==
        "matrix_norm: expects floats, got i64[2, 3]");
  CHECK(call("matrix_norm", {ops::to(x, DType::F16)}).dtype() == DType::F16);
}

TEST_CASE("condition numbers", "[factor]") {
  const Tensor a = tensor_of(Nd{{2, 2}, {1, 2, 3, 4}});
  const double inverse_fro = std::sqrt(4 + 1 + 2.25 + 0.25);
  check_near(call("cond.word", {a}, {std::string("fro")}), Nd{{}, {std::sqrt(30.0) * inverse_fro}}, 1e-12);
  check_near(call("cond", {a}, {1.0}), Nd{{}, {6 * 3.5}}, 1e-12);
  check_near(call("cond", {a}, {HUGE_VAL}), Nd{{}, {7 * 3.0}}, 1e-12);
  check_near(call("cond", {a}) * call("cond", {a}, {-2.0}), Nd{{}, {1}}, 1e-12);
  const Tensor parts[] = {a, ops::ones_like(a)};
  const Nd both = nd_of(call("cond", {ops::stack(parts)}, {1.0}));
  CHECK(std::abs(both.values[0] - 21) < 1e-12);
  CHECK(both.values[1] == HUGE_VAL);
}

TEST_CASE("powers of matrices", "[factor]") {
  const Nd a{{2, 2}, {1, 2, 3, 4}};
  for (const DType dtype : {DType::I32, DType::I64, DType::F32, DType::F64, DType::F16}) {
    const Tensor x = tensor_of(a, dtype);
    check_equal(call("matrix_power", {x}, {0_i}), Nd{{2, 2}, {1, 0, 0, 1}});
    check_equal(call("matrix_power", {x}, {1_i}), a);
    check_equal(call("matrix_power", {x}, {3_i}), Nd{{2, 2}, {37, 54, 81, 118}});
    CHECK_FALSE(shares_storage(call("matrix_power", {x}, {1_i}), x));
  }
  check_near(call("matrix_power", {tensor_of(a)}, {-2_i}), Nd{{2, 2}, {5.5, -2.5, -3.75, 1.75}}, 1e-13);
  CHECK(error_of([&] { call("matrix_power", {tensor_of(a, DType::I64)}, {-1_i}); }, ErrorKind::DType) ==
        "matrix_power: expects floats, got i64[2, 2]");
}

TEST_CASE("exponentials of matrices are the power series", "[factor]") {
  for (const double scale : {0.01, 1.0, 20.0}) {
    for_each_matrix({{1, 1}, {4, 4}, {2, 3, 3}}, [&](const Tensor& x) {
      const Tensor a = x * scale;
      const Dim n = a.size(a.rank() - 1);
      const Nd values = nd_of(a);
      Nd expected{a.sizes(), {}};
      for (std::size_t first = 0; first < values.values.size(); first += static_cast<std::size_t>(n * n)) {
        // The series of a / 2**10, squared ten times.
        const auto square = static_cast<std::size_t>(n * n);
        std::vector<long double> scaled, term(square), sum(square);
        for (std::size_t i = 0; i < square; ++i) {
          scaled.push_back(static_cast<long double>(values.values[first + i]) * 0x1p-10L);
          term[i] = sum[i] = i % static_cast<std::size_t>(n + 1) == 0 ? 1 : 0;
        }
        const auto times = [&](const std::vector<long double>& left, const std::vector<long double>& right) {
          std::vector<long double> product(square);
          for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
            for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k)
              for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j)
                product[i * static_cast<std::size_t>(n) + j] +=
                    left[i * static_cast<std::size_t>(n) + k] * right[k * static_cast<std::size_t>(n) + j];
          return product;
        };
        for (int k = 1; k < 20; ++k) {
          term = times(term, scaled);
          for (std::size_t i = 0; i < square; ++i) sum[i] += term[i] /= k;
        }
        for (int k = 0; k < 10; ++k) sum = times(sum, sum);
        for (const long double value : sum) expected.values.push_back(static_cast<double>(value));
      }
      const double largest =
          std::abs(*std::max_element(expected.values.begin(), expected.values.end(),
                                     [](double p, double q) { return std::abs(p) < std::abs(q); }));
      const Tensor found = call("matrix_exp", {a});
      CHECK(found.dtype() == a.dtype());
      check_near(found / std::max(largest, 1.0), tensor_of(expected) / std::max(largest, 1.0),
                 unit(a.dtype()) * 2000);
    });
  }
  CHECK(call("matrix_exp", {ops::zeros(Dims{0, 0}, DType::F32)}).sizes() == Dims{0, 0});
  CHECK(std::isnan(nd_of(call("matrix_exp", {ops::log(-ops::ones(Dims{1, 1}))})).values[0]));
}

TEST_CASE("Kronecker products are made of blocks", "[factor]") {
  for (const auto& [a_sizes, b_sizes] :
       std::vector<std::pair<Dims, Dims>>{{{2, 3}, {3, 2}}, {{2}, {3, 2}}, {{2, 1, 2}, {2}}, {{}, {2}}}) {
    const Nd a = sample(a_sizes, 1), b = sample(b_sizes, 2);
    const std::size_t rank = std::max(a_sizes.size(), b_sizes.size());
    const auto padded = [rank](const IntDims& sizes) {
      Dims result(rank - sizes.size(), 1);
      result.append(sizes.begin(), sizes.end());
      return result;
    };
    const Nd left{padded(a_sizes), a.values}, right{padded(b_sizes), b.values};
    Dims sizes;
    for (std::size_t d = 0; d < rank; ++d) sizes.push_back(left.sizes[d] * right.sizes[d]);
    const Nd expected = build(sizes, [&](const IntDims& index) {
      Dims i, j;
      for (std::size_t d = 0; d < rank; ++d) {
        i.push_back(index[d] / right.sizes[d]);
        j.push_back(index[d] % right.sizes[d]);
      }
      return left.at(i) * right.at(j);
    });
    check_equal(call("kron", {tensor_of(a), tensor_of(b)}), expected);
    check_equal(call("kron", {tensor_of(a, DType::I64), tensor_of(b, DType::F32)}), expected);
  }
}

TEST_CASE("cross products", "[factor]") {
  const Tensor a = tensor_of(Nd{{2, 3}, {1, 2, 3, 4, 5, 6}}, DType::I64);
  const Tensor b = tensor_of(Nd{{1, 3}, {7, 9, 8}}, DType::I64);
  const Nd expected{{2, 3}, {-11, 13, -5, -14, 10, 1}};
  check_equal(call("cross", {a, b}), expected);
  check_equal(ops::transpose(call("cross", {linalg::t(a), linalg::t(b)}, {0_i}), 0, 1), expected);
  CHECK(error_of([&] { call("cross", {a, b}, {0_i}); }, ErrorKind::Shape) ==
        "cross: i64[2, 3] and i64[1, 3]: dimension 0 must have size 3");
  CHECK(error_of([&] { call("cross", {a, vector_of({1, 2, 3})}); }, ErrorKind::Shape) ==
        "cross: i64[2, 3] and i64[3]: the numbers of dimensions differ");
}

}  // namespace kiln::matrix_functions_test
