#include <cmath>
#include <cstring>

#include "every_isa.h"
#include "nd.h"
#include "tensor/cpu/products/product_kernels.h"
#include "tensor/parallel.h"

namespace kiln::linalg_test {

using namespace kiln::test;

namespace {

// The product of the last two dimensions, batches broadcast; vectors as rows and columns.
Nd product(const Nd& a, const Nd& b) {
  const IntDims rows = a.sizes.size() == 1 ? IntDims{1, a.sizes[0]} : a.sizes;
  const IntDims columns = b.sizes.size() == 1 ? IntDims{b.sizes[0], 1} : b.sizes;
  const Nd left{rows, a.values};
  const Nd right{columns, b.values};
  const std::size_t ra = rows.size();
  const std::size_t rb = columns.size();
  Dims wide = broadcast(Dims(rows.begin(), rows.end() - 2), Dims(columns.begin(), columns.end() - 2), "test");
  const std::size_t batch = wide.size();
  wide.push_back(rows[ra - 2]);
  wide.push_back(columns[rb - 1]);
  Nd result = build(wide, [&](const IntDims& i) {
    long double sum = 0;
    for (Dim k = 0; k < rows[ra - 1]; ++k) {
      Dims x(ra, 0);
      Dims y(rb, 0);
      for (std::size_t d = 0; d + 2 < ra; ++d) x[d] = rows[d] == 1 ? 0 : i[d + batch - (ra - 2)];
      for (std::size_t d = 0; d + 2 < rb; ++d) y[d] = columns[d] == 1 ? 0 : i[d + batch - (rb - 2)];
      x[ra - 2] = i[batch];
      x[ra - 1] = y[rb - 2] = k;
      y[rb - 1] = i[batch + 1];
      sum += static_cast<long double>(left.at(x)) * static_cast<long double>(right.at(y));
    }
    return static_cast<double>(sum);
  });
  if (b.sizes.size() == 1) result.sizes.pop_back();
  if (a.sizes.size() == 1) result.sizes.erase(result.sizes.end() - (b.sizes.size() == 1 ? 1 : 2));
  return result;
}

// Small integers, so that every order of adding gives the same.
Nd small(const Dims& sizes, unsigned seed) {
  Nd array = sample(sizes, seed);
  for (double& value : array.values) value = static_cast<double>(static_cast<int>(value) % 4);
  return array;
}

}  // namespace

TEST_CASE("matmul of all ranks, dtypes and layouts", "[linalg]") {
  const std::pair<Dims, Dims> shapes[] = {
      {{4}, {4}},
      {{3, 4}, {4}},
      {{4}, {4, 5}},
      {{3, 4}, {4, 5}},
      {{2, 3, 4}, {4, 5}},
      {{2, 3, 4}, {4}},
      {{4}, {2, 4, 3}},
      {{3, 4}, {2, 4, 5}},
      {{2, 3, 4}, {2, 4, 5}},
      {{2, 1, 3, 4}, {3, 4, 2}},
      {{0, 4}, {4, 5}},
      {{3, 0}, {0, 5}},
      {{2, 3, 0}, {0, 2}},
      {{0}, {0}},
      {{1, 20}, {20, 30}},
      {{33, 17}, {17, 65}},
  };
  for (const auto& [a_sizes, b_sizes] : shapes) {
    const Nd a = small(a_sizes, 1);
    const Nd b = small(b_sizes, 2);
    const Nd expected = product(a, b);
    for (const DType dtype : kAllDtypes) {
      if (dtype == DType::Bool || (size_of(dtype) == 1 && a_sizes.back() > 14)) continue;
      for (const Lay left : kLays) {
        for (const Lay right : kLays) {
          CAPTURE(to_string(a_sizes), to_string(b_sizes), name(dtype), static_cast<int>(left),
                  static_cast<int>(right));
          const Tensor result =
              ops::matmul(laid_out(tensor_of(a, dtype), left), laid_out(tensor_of(b, dtype), right));
          CHECK(result.dtype() == dtype);
          check_equal(result, expected);
        }
      }
    }
  }
}

namespace {

// Calls f<T>(dtype) for the dtypes that our own kernels multiply, with every instruction set.
template <class F>
void every_own_product(const F& f) {
  every_isa([&] {
    f.template operator()<float>(DType::F32);
    f.template operator()<double>(DType::F64);
    f.template operator()<std::int8_t>(DType::I8);
    f.template operator()<std::uint8_t>(DType::U8);
    f.template operator()<std::int16_t>(DType::I16);
    f.template operator()<std::int32_t>(DType::I32);
    f.template operator()<std::int64_t>(DType::I64);
  });
}
template <class T>
Tensor filled(const Dims& sizes, DType dtype, unsigned seed) {
  return std::is_integral_v<T> ? ops::to(tensor_of(sample(sizes, seed)), dtype) : noise(sizes, dtype, seed);
}

// Each element in the order that products with vectors have: lanes, a tree, blocks one after the other.
template <class T>
std::vector<T> in_fixed_order(const T* a, const T* x, std::int64_t m, std::int64_t k) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  std::vector<T> result;
  for (std::int64_t i = 0; i < m; ++i) {
    Sum total = 0;
    for (std::int64_t block = 0; block < k; block += kDotBlock) {
      Sum lanes[kDotLanes] = {};
      for (std::int64_t p = block; p < std::min<std::int64_t>(k, block + kDotBlock); ++p) {
        const Sum term = static_cast<Sum>(a[i * k + p]) * static_cast<Sum>(x[p]);
        lanes[(p - block) % kDotLanes] += term;
      }
      for (int half = kDotLanes / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
      total += lanes[0];
    }
    result.push_back(static_cast<T>(total));
  }
  return result;
}

template <class T>
void check_vector_product(DType dtype, Dim m, Dim k) {
  const Tensor a = filled<T>({m, k}, dtype, 1), x = filled<T>({k}, dtype, 2);
  const std::vector<T> expected = in_fixed_order(a.data<T>(), x.data<T>(), m, k);
  for (const Lay lay : kLays) {
    CAPTURE(name(dtype), m, k, static_cast<int>(lay));
    const Tensor matrix = laid_out(a, lay);
    for (const Tensor& y :
         {ops::matmul(matrix, laid_out(x, lay)), ops::matmul(x, ops::transpose(matrix, 0, 1))}) {
      REQUIRE(y.numel() == m);
      CHECK(std::memcmp(y.raw(), expected.data(), expected.size() * sizeof(T)) == 0);
    }
  }
}

}  // namespace

TEST_CASE("products with vectors have one order of adding, whatever the layout and the processor",
          "[linalg]") {
  every_own_product([]<class T>(DType dtype) {
    for (const Dim m : {1, 2, 15, 16, 17, 63, 64, 65, 150})
      for (const Dim k : {1, 2, 31, 32, 33, 64, 100, 8225}) check_vector_product<T>(dtype, m, k);
    // Several strips of columns, the last one narrow; blocks that threads share.
    check_vector_product<T>(dtype, 4100, 300);
    check_vector_product<T>(dtype, 39, 20000);
  });
}

TEST_CASE("products of halves with vectors are those of f32, rounded", "[linalg]") {
  every_isa([] {
    for (const DType dtype : {DType::F16, DType::BF16}) {
      for (const auto& [m, k] :
           {std::pair<Dim, Dim>{1, 20000}, {5, 100}, {39, 20000}, {2100, 300}, {70, 0}}) {
        const Tensor a = noise({m, k}, dtype, 1), x = noise({k}, dtype, 2);
        const Tensor expected = ops::to(ops::matmul(ops::to(a, DType::F32), ops::to(x, DType::F32)), dtype);
        for (const Lay lay : kLays) {
          CAPTURE(name(dtype), m, k, static_cast<int>(lay));
          const Tensor matrix = laid_out(a, lay);
          CHECK(same_bytes(ops::matmul(matrix, laid_out(x, lay)), expected));
          CHECK(same_bytes(ops::matmul(x, ops::transpose(matrix, 0, 1)), expected));
        }
      }
    }
  });
}

namespace {

// Each element added up in the order of k, as small products are.
template <class T>
std::vector<T> in_turn(const T* a, const T* b, std::int64_t m, std::int64_t n, std::int64_t k) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  std::vector<T> result;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Sum sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const Sum term = static_cast<Sum>(a[i * k + p]) * static_cast<Sum>(b[p * n + j]);
        sum += term;
      }
      result.push_back(static_cast<T>(sum));
    }
  }
  return result;
}

// Larger ones may fuse multiplications and additions, in f32 and f64.
constexpr Dim kMostInTurn = 6144;

template <class T>
void check_small_products(DType dtype) {
  for (const auto& [m, k, n] : {std::tuple<Dim, Dim, Dim>{2, 2, 2},
                                {3, 5, 7},
                                {8, 8, 8},
                                {9, 16, 16},
                                {11, 3, 17},
                                {16, 16, 24},
                                {300, 3, 41},
                                {2, 150, 20},
                                {16, 20, 33},
                                {17, 31, 40},
                                {2, 150, 90},
                                {25, 70, 15},
                                {7, 129, 31}}) {
    if (std::is_floating_point_v<T> && m * n * k > kMostInTurn) continue;
    const Tensor a = filled<T>({m, k}, dtype, 1), b = filled<T>({k, n}, dtype, 2);
    const std::vector<T> expected = in_turn(a.data<T>(), b.data<T>(), m, n, k);
    for (const Lay left : kLays) {
      for (const Lay right : kLays) {
        CAPTURE(name(dtype), m, k, n, static_cast<int>(left), static_cast<int>(right));
        const Tensor c = ops::matmul(laid_out(a, left), laid_out(b, right));
        REQUIRE(c.numel() == m * n);
        CHECK(std::memcmp(c.raw(), expected.data(), expected.size() * sizeof(T)) == 0);
      }
    }
  }
}

}  // namespace

TEST_CASE("small products are added up in turn, whatever the layout and the processor", "[linalg]") {
  every_own_product([]<class T>(DType dtype) { check_small_products<T>(dtype); });
}

TEST_CASE("matmul of odd sizes is close to a long double reference", "[linalg]") {
  for (const auto& [m, k, n] :
       {std::tuple<Dim, Dim, Dim>{65, 130, 71}, {1, 500, 300}, {200, 700, 1}, {128, 31, 257}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Tensor a = noise({m, k}, dtype, 3);
      const Tensor b = noise({n, k}, dtype, 4);
      const Nd expected = product(nd_of(a), nd_of(ops::transpose(b, 0, 1)));
      const Nd actual = nd_of(ops::matmul(a, ops::transpose(b, 0, 1)));
      const double unit = dtype == DType::F32 ? 0x1p-23 : 0x1p-52;
      double worst = 0;
      for (std::size_t i = 0; i < actual.values.size(); ++i)
        worst = std::max(worst, std::abs(actual.values[i] - expected.values[i]));
      CHECK(worst < unit * std::sqrt(static_cast<double>(k)) * 8);
    }
  }
}

TEST_CASE("products have the same bits on any number of threads", "[linalg]") {
  const int threads = num_threads();
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const auto& [m, k, n] : {std::tuple<Dim, Dim, Dim>{64, 64, 64},
                                  {133, 77, 61},
                                  {31, 2000, 40},
                                  {300, 300, 300},
                                  {1, 30'000, 1},
                                  {2000, 70, 1},
                                  {1, 90, 2000},
                                  {600, 40, 9}}) {
      const Tensor a = noise({m, k}, dtype, 5);
      const Tensor b = noise({k, n}, dtype, 6);
      const Tensor turned = laid_out(b, Lay::Reversed);
      set_num_threads(1);
      const Tensor straight = ops::matmul(a, b);
      const Tensor transposed = ops::matmul(a, turned);
      for (const int count : {2, 3, 5}) {
        set_num_threads(count);
        CAPTURE(name(dtype), m, k, n, count);
        CHECK(same_bytes(ops::matmul(a, b), straight));
        CHECK(same_bytes(ops::matmul(a, turned), transposed));
      }
    }
  }
  set_num_threads(threads);
}

TEST_CASE("integers wrap", "[linalg]") {
  const Tensor big = tensor_of(Nd{{1, 2}, {100, 100}}, DType::I8);
  check_equal(ops::matmul(big, tensor_of(Nd{{2, 1}, {2, 1}}, DType::I8)), Nd{{1, 1}, {300 - 256}});
  const Tensor huge = ops::full(Dims{1, 1}, Tensor::number(std::int64_t{1} << 62), DType::I64);
  check_equal(ops::matmul(huge, vector_of({4})), Nd{{1}, {0}});
}

TEST_CASE("mm, bmm, mv, dot, outer, trace", "[linalg]") {
  const Nd a = small({3, 4}, 1);
  const Nd b = small({4, 2}, 2);
  const Nd v = small({4}, 3);
  check_equal(ops::mm(tensor_of(a), tensor_of(b)), product(a, b));
  check_equal(call("mv", {tensor_of(a), tensor_of(v)}), product(a, v));
  check_equal(ops::dot(tensor_of(v), tensor_of(v)), product(v, v));
  check_equal(ops::bmm(tensor_of(small({2, 3, 4}, 1)), tensor_of(small({2, 4, 2}, 2))),
              product(small({2, 3, 4}, 1), small({2, 4, 2}, 2)));
  check_equal(ops::outer(vector_of({1, 2}), vector_of({3, 4, 5})), Nd{{2, 3}, {3, 4, 5, 6, 8, 10}});
  check_equal(call("trace", {tensor_of(Nd{{2, 3}, {1, 2, 3, 4, 5, 6}}, DType::I32)}), Nd{{}, {6}});
}

TEST_CASE("linear adds its bias", "[linalg]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32}) {
    const Nd x = small({2, 3, 4}, 1);
    const Nd weight = small({5, 4}, 2);
    const Nd bias = small({5}, 3);
    Nd expected = product(x, build({4, 5}, [&](const IntDims& i) { return weight.at({i[1], i[0]}); }));
    check_equal(ops::linear(tensor_of(x, dtype), tensor_of(weight, dtype), {}), expected);
    for_each_index(expected.sizes, [&](const IntDims& i) { expected.at(i) += bias.at({i[2]}); });
    const Tensor inputs[] = {tensor_of(x, dtype), tensor_of(weight, dtype), tensor_of(bias, dtype)};
    check_equal(ops::linear(inputs[0], inputs[1], inputs[2]), expected);
    const Op& op = OpTable::get().at("linear");
    check_equal(op.decompose(op, Inputs(inputs, 3), Attrs(op))[0], expected);
  }
  check_equal(ops::linear(tensor_of(small({3, 4}, 1)), tensor_of(small({4}, 2)), tensor_of(Nd{{}, {1}})),
              [&] {
                Nd result = product(small({3, 4}, 1), small({4}, 2));
                for (double& value : result.values) value += 1;
                return result;
              }());
}

TEST_CASE("einsum", "[linalg]") {
  const Nd a = small({3, 4}, 1);
  const Nd b = small({4, 5}, 2);
  const auto einsum = [](const char* equation, std::initializer_list<Tensor> operands) {
    return call("einsum", operands, {std::string(equation)});
  };
  const Tensor x = tensor_of(a);
  const Tensor y = tensor_of(b);
  check_equal(einsum("ij,jk->ik", {x, y}), product(a, b));
  check_equal(einsum("ij,jk", {x, y}), product(a, b));
  check_equal(einsum("ij->ji", {x}), build({4, 3}, [&](const IntDims& i) { return a.at({i[1], i[0]}); }));
  check_equal(einsum("ij,ij->i", {x, x}), build({3}, [&](const IntDims& i) {
                double sum = 0;
                for (Dim j = 0; j < 4; ++j) sum += a.at({i[0], j}) * a.at({i[0], j});
                return sum;
              }));
  check_equal(einsum("i,j->ij", {vector_of({1, 2}), vector_of({3, 4})}), Nd{{2, 2}, {3, 4, 6, 8}});
  check_equal(einsum("ii->i", {tensor_of(Nd{{2, 2}, {1, 2, 3, 4}})}), Nd{{2}, {1, 4}});
  check_equal(einsum("ii", {tensor_of(Nd{{2, 2}, {1, 2, 3, 4}})}), Nd{{}, {5}});
  check_equal(einsum("...ij,...jk->...ik", {tensor_of(small({2, 3, 4}, 1)), y}),
              product(small({2, 3, 4}, 1), b));
  check_equal(einsum("ij,jk,kl->il", {x, y, tensor_of(small({5, 2}, 3))}),
              product(product(a, b), small({5, 2}, 3)));
  check_equal(
      einsum("bhqd,bhkd->bhqk", {tensor_of(small({2, 2, 3, 4}, 1)), tensor_of(small({2, 2, 5, 4}, 2))}),
      build({2, 2, 3, 5}, [&](const IntDims& i) {
        double sum = 0;
        for (Dim d = 0; d < 4; ++d) {
          sum += small({2, 2, 3, 4}, 1).at({i[0], i[1], i[2], d}) *
                 small({2, 2, 5, 4}, 2).at({i[0], i[1], i[3], d});
        }
        return sum;
      }));
  CHECK(error_of([&] { einsum("ij,jk->il", {x, y}); }, ErrorKind::Value) ==
        "einsum: \"ij,jk->il\": the result names 'l', which no operand has");
  CHECK(error_of([&] { einsum("ij,jk->ik", {x, x}); }, ErrorKind::Value) ==
        "einsum: \"ij,jk->ik\": 'j' has size 4 in operand 0 and 3 in operand 1");
  CHECK(error_of([&] { einsum("ijk->i", {x}); }, ErrorKind::Value) ==
        "einsum: \"ijk->i\": operand 0 has 2 dimensions, \"ijk\" names 3");
  CHECK(error_of([&] { einsum("ij", {x, y}); }, ErrorKind::Value) ==
        "einsum: \"ij\": names 1 operand, given are 2");
}

TEST_CASE("products that do not fit say which sizes differ", "[linalg]") {
  const auto f32 = [](Dims sizes) { return ops::zeros(sizes, DType::F32); };
  CHECK(error_of([&] { ops::matmul(f32({32, 784}), f32({128, 10})); }, ErrorKind::Shape) ==
        "cannot multiply f32[32, 784] by f32[128, 10]: inner sizes 784 and 128 differ");
  CHECK(error_of([&] { ops::matmul(f32({2, 3, 4}), f32({5, 4, 6})); }, ErrorKind::Shape) ==
        "cannot multiply f32[2, 3, 4] by f32[5, 4, 6]: batch sizes [2] and [5] do not broadcast");
  CHECK(error_of([&] { ops::matmul(f32({2}), f32({})); }, ErrorKind::Shape) ==
        "cannot multiply f32[2] by f32[]: a 0-d tensor is not a matrix");
  CHECK(error_of([&] { ops::matmul(f32({2, 2}), ops::zeros(Dims{2, 2}, DType::F64)); }, ErrorKind::DType) ==
        "cannot multiply f32[2, 2] by f64[2, 2]: dtypes differ");
  CHECK(error_of([&] { ops::mm(f32({2}), f32({2, 2})); }, ErrorKind::Shape) ==
        "mm: expects 2 and 2 dimensions, got f32[2] and f32[2, 2]");
  CHECK(error_of([&] { ops::linear(f32({2, 3}), f32({5, 4}), {}); }, ErrorKind::Shape) ==
        "linear: f32[2, 3] has 3 features but the weight f32[5, 4] takes 4");
  CHECK(error_of([&] { ops::linear(f32({2, 3}), f32({5, 3}), f32({4})); }, ErrorKind::Shape) ==
        "linear: a bias f32[4] does not fit the result f32[2, 5]");
  try {
    ops::matmul(f32({2, 3}), f32({5, 3}));
  } catch (const OpError& error) {
    CHECK(error.operands() == std::vector<int>{0, 1});
    CHECK(error.help() == "transpose the right one with `.t()`");
  }
}

}  // namespace kiln::linalg_test
