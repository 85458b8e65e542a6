#include <cmath>
#include <cstring>

#include "nd.h"
#include "tensor/parallel.h"

using namespace kiln;
using namespace kiln::test;

// Products of bf16 that are large enough for the library's own ones; where it has none they are f32's.
namespace {

Tensor noise(const Dims& sizes, unsigned seed) {
  std::mt19937 engine(seed);
  return tensor_of(build(sizes, [&](const Dims&) { return static_cast<double>(engine()) * 0x1p-31 - 1; }),
                   DType::BF16);
}

Tensor as(const Tensor& x, DType dtype) { return cpu::contiguous_copy(x, dtype); }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() &&
         std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.numel()) * size_of(a.dtype())) == 0;
}

// Sums in f32, rounded once to 8 bits.
void check_product(const Tensor& a, const Tensor& b) {
  const Nd expected = nd_of(ops::matmul(as(a, DType::F64), as(b, DType::F64)));
  const Tensor product = ops::matmul(a, b);
  CHECK(product.dtype() == DType::BF16);
  const Nd actual = nd_of(product);
  REQUIRE(actual.sizes == expected.sizes);
  const double sums = 0x1p-23 * std::sqrt(static_cast<double>(a.size(a.rank() - 1))) * 8;
  double worst = 0;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double allowed = std::abs(expected.values[i]) * 0x1.01p-8 + sums;
    worst = std::max(worst, std::abs(actual.values[i] - expected.values[i]) / allowed);
  }
  CHECK(worst <= 1);
}

}  // namespace

TEST_CASE("large products of bf16 are sums of f32, rounded once", "[half_product]") {
  const std::pair<Dims, Dims> shapes[] = {
      {{128, 128}, {128, 128}},  {{65, 130}, {130, 71}},    {{300, 17}, {17, 257}},
      {{2, 900}, {900, 700}},    {{700, 900}, {900, 2}},    {{3, 100, 64}, {3, 64, 100}},
      {{4, 50, 80}, {80, 90}},   {{100, 64}, {3, 64, 100}}, {{2, 1, 70, 90}, {3, 90, 100}},
      {{33, 1000}, {1000, 257}}, {{513, 31}, {31, 321}},    {{1, 100, 100}, {100, 100}},
      {{700, 20}, {20, 1}},      {{1, 2000}, {2000, 300}},
  };
  for (const auto& [a_sizes, b_sizes] : shapes) {
    CAPTURE(to_string(a_sizes), to_string(b_sizes));
    const Tensor a = noise(a_sizes, 1), b = noise(b_sizes, 2);
    check_product(a, b);
    const Tensor expected = ops::matmul(a, b);
    for (const Lay left : kLays) {
      for (const Lay right : kLays) {
        CAPTURE(static_cast<int>(left), static_cast<int>(right));
        const Tensor again = ops::matmul(laid_out(a, left), laid_out(b, right));
        // Vectors and small products go by f32's library, to which layouts matter.
        const bool is_vector = a_sizes[a_sizes.size() - 2] == 1 || b_sizes.back() == 1;
        if (!is_vector) CHECK(same_bits(again, expected));
      }
    }
  }
}

TEST_CASE("large products of bf16 have the same bits on any number of threads", "[half_product]") {
  const int threads = num_threads();
  for (const auto& [m, k, n] : {std::tuple<Dim, Dim, Dim>{300, 200, 600}, {64, 512, 64}, {1000, 30, 70}}) {
    const Tensor a = noise({m, k}, 5), b = noise({k, n}, 6);
    set_num_threads(1);
    const Tensor expected = ops::matmul(a, b);
    for (const int count : {2, 3, 5}) {
      set_num_threads(count);
      CAPTURE(m, k, n, count);
      CHECK(same_bits(ops::matmul(a, b), expected));
    }
  }
  set_num_threads(threads);
}

TEST_CASE("large products of bf16 keep numbers below the normal range, infinities and nan",
          "[half_product]") {
  const Nd zeros = build({128, 128}, [](const Dims&) { return 0.0; });
  const double tiny = std::ldexp(1.0, -130), large = std::ldexp(1.0, 127);
  for (const bool on_the_left : {true, false}) {
    Nd a = zeros, b = zeros;
    (on_the_left ? a : b).at({3, 3}) = tiny;
    (on_the_left ? b : a).at({3, 3}) = large;
    const Nd product = nd_of(ops::matmul(tensor_of(a, DType::BF16), tensor_of(b, DType::BF16)));
    CHECK(product.at({3, 3}) == 0.125);
  }
  Nd a = zeros;
  a.at({0, 1}) = -0.0;
  a.at({1, 0}) = INFINITY;
  a.at({2, 0}) = NAN;
  Nd b = zeros;
  for (Dim j = 0; j < 128; ++j) b.at({0, j}) = 2;
  const Nd product = nd_of(ops::matmul(tensor_of(a, DType::BF16), tensor_of(b, DType::BF16)));
  CHECK(product.at({0, 5}) == 0);
  CHECK(product.at({1, 5}) == INFINITY);
  CHECK(std::isnan(product.at({2, 5})));
}
