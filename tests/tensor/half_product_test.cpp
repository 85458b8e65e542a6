#include <cmath>
#include <cstring>

#include "every_isa.h"
#include "nd.h"
#include "tensor/cpu/products/tile_kernels.h"
#include "tensor/parallel.h"

namespace kiln::half_product_test {

using namespace kiln::test;

// Products of halves: on tiles or by vectors of pairs where the processor has them, as vectors, or as those
// of f32.
namespace {

constexpr DType kHalves[] = {DType::BF16, DType::F16};

Tensor as(const Tensor& x, DType dtype) { return cpu::contiguous_copy(x, dtype); }

// Sums in f32, rounded once to 8 or 11 bits.
void check_product(const Tensor& a, const Tensor& b) {
  const Nd expected = nd_of(ops::matmul(as(a, DType::F64), as(b, DType::F64)));
  const Tensor product = ops::matmul(a, b);
  CHECK(product.dtype() == a.dtype());
  const Nd actual = nd_of(product);
  REQUIRE(actual.sizes == expected.sizes);
  const double last = a.dtype() == DType::BF16 ? 0x1.01p-8 : 0x1.01p-11;
  const double sums = 0x1p-23 * std::sqrt(static_cast<double>(a.size(a.rank() - 1))) * 8;
  double worst = 0;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double allowed = std::abs(expected.values[i]) * last + sums;
    worst = std::max(worst, std::abs(actual.values[i] - expected.values[i]) / allowed);
  }
  CHECK(worst <= 1);
}

// As many elements as tiles have and more or fewer, of each operand more or fewer than a block has, and
// batches of few and of many.
const std::pair<Dims, Dims> kShapes[] = {
    {{128, 128}, {128, 128}},  {{65, 130}, {130, 71}},        {{300, 17}, {17, 257}},
    {{2, 900}, {900, 700}},    {{700, 900}, {900, 2}},        {{3, 100, 64}, {3, 64, 100}},
    {{4, 50, 80}, {80, 90}},   {{100, 64}, {3, 64, 100}},     {{2, 1, 70, 90}, {3, 90, 100}},
    {{33, 1000}, {1000, 257}}, {{513, 31}, {31, 321}},        {{1, 100, 100}, {100, 100}},
    {{31, 2500}, {2500, 700}}, {{700, 4200}, {4200, 40}},     {{20, 33, 65}, {20, 65, 47}},
    {{17, 16, 32}, {32, 16}},  {{3, 700}, {700, 65}},         {{7, 40}, {40, 33}},
    {{8, 9000}, {9000, 20}},   {{20, 5, 300}, {20, 300, 50}}, {{28, 9}, {9, 100}},
    {{12, 8}, {8, 31}},        {{4, 3}, {3, 5000}},
};
// The same with one row or column, and sums longer than a block of them.
const std::pair<Dims, Dims> kVectors[] = {
    {{700, 20}, {20, 1}}, {{1, 2000}, {2000, 300}},  {{900}, {900, 70}},       {{70, 900}, {900}},
    {{9000}, {9000}},     {{3, 1, 40}, {3, 40, 50}}, {{1, 300}, {2, 300, 40}}, {{1, 10000}, {10000, 1}},
    {{3, 40, 50}, {50}},  {{1, 1100}, {1100, 4200}},
};

}  // namespace

TEST_CASE("products of halves are sums of f32, rounded once", "[half_product]") {
  for (const DType dtype : kHalves) {
    for (const auto& [a_sizes, b_sizes] : kShapes) {
      CAPTURE(name(dtype), to_string(a_sizes), to_string(b_sizes));
      const Tensor a = noise(a_sizes, dtype, 1), b = noise(b_sizes, dtype, 2);
      check_product(a, b);
      const Tensor expected = ops::matmul(a, b);
      for (const Lay left : kLays) {
        for (const Lay right : kLays) {
          CAPTURE(static_cast<int>(left), static_cast<int>(right));
          CHECK(same_bytes(ops::matmul(laid_out(a, left), laid_out(b, right)), expected));
        }
      }
    }
  }
}

TEST_CASE("vectors by matrices of halves are those of f32, rounded, however they lie", "[half_product]") {
  every_isa([] {
    for (const DType dtype : kHalves) {
      for (const auto& [a_sizes, b_sizes] : kVectors) {
        CAPTURE(name(dtype), to_string(a_sizes), to_string(b_sizes));
        const Tensor a = noise(a_sizes, dtype, 3), b = noise(b_sizes, dtype, 4);
        const Tensor expected = as(ops::matmul(as(a, DType::F32), as(b, DType::F32)), dtype);
        for (const Lay left : kLays)
          for (const Lay right : kLays)
            CHECK(same_bytes(ops::matmul(laid_out(a, left), laid_out(b, right)), expected));
      }
    }
  });
}

// But by tiles, and by vectors of pairs, which bf16 is multiplied by from four rows on.
TEST_CASE("few rows by a matrix of halves are its products with each of them", "[half_product]") {
  every_isa([] {
    for (const DType dtype : kHalves) {
      for (const Dim rows : {2, 3, 4, 5, 8}) {
        const bool is_v4 = cpu::isa() == cpu::Isa::V4;
        if (is_v4 && cpu::tiles::unit() == cpu::tiles::Unit::Tiles) continue;
        if (is_v4 && cpu::tiles::unit() == cpu::tiles::Unit::Vectors && dtype == DType::BF16 && rows > 3)
          continue;
        for (const auto& [depth, columns] : {std::pair<Dim, Dim>{100, 70}, {37, 1000}, {9001, 18}}) {
          CAPTURE(name(dtype), rows, depth, columns);
          const Tensor a = noise({rows, depth}, dtype, 7), b = noise({depth, columns}, dtype, 8);
          for (const Lay right : kLays) {
            const Tensor laid = laid_out(b, right), all = ops::matmul(a, laid);
            for (Dim i = 0; i < rows; ++i)
              CHECK(same_bytes(as(ops::narrow(all, 0, i, 1), dtype),
                               ops::matmul(ops::narrow(a, 0, i, 1), laid)));
          }
        }
      }
    }
  });
}

TEST_CASE("products of halves have the same bits on any number of threads", "[half_product]") {
  const int threads = num_threads();
  for (const DType dtype : kHalves) {
    for (const auto& [m, k, n] : {std::tuple<Dim, Dim, Dim>{300, 200, 600},
                                  {64, 512, 64},
                                  {1000, 30, 70},
                                  {20, 3000, 900},
                                  {6, 9000, 300}}) {
      const Tensor a = noise({m, k}, dtype, 5), b = noise({k, n}, dtype, 6);
      set_num_threads(1);
      const Tensor expected = ops::matmul(a, b);
      for (const int count : {2, 3, 5}) {
        set_num_threads(count);
        CAPTURE(name(dtype), m, k, n, count);
        CHECK(same_bytes(ops::matmul(a, b), expected));
      }
    }
  }
  set_num_threads(threads);
}

TEST_CASE("products of halves keep numbers below the normal range, infinities and nan", "[half_product]") {
  const Nd zeros = build({128, 128}, [](const IntDims&) { return 0.0; });
  for (const DType dtype : kHalves) {
    // The smallest number there is, and one whose product with it is 2^-3.
    const int least = dtype == DType::BF16 ? -130 : -18;
    for (const bool on_the_left : {true, false}) {
      Nd a = zeros, b = zeros;
      (on_the_left ? a : b).at({3, 3}) = std::ldexp(1.0, least);
      (on_the_left ? b : a).at({3, 3}) = std::ldexp(1.0, -3 - least);
      const Nd product = nd_of(ops::matmul(tensor_of(a, dtype), tensor_of(b, dtype)));
      CHECK(product.at({3, 3}) == 0.125);
    }
    for (const bool on_the_left : {true, false}) {
      Nd special = zeros, twos = zeros;
      const auto place = [&](Dim line) { return on_the_left ? Dims{line, 0} : Dims{0, line}; };
      special.at(on_the_left ? Dims{0, 1} : Dims{1, 0}) = -0.0;
      special.at(place(1)) = INFINITY;
      special.at(place(2)) = NAN;
      for (Dim i = 0; i < 128; ++i) twos.at(on_the_left ? Dims{0, i} : Dims{i, 0}) = 2;
      const Tensor x = tensor_of(special, dtype), y = tensor_of(twos, dtype);
      const Nd product = nd_of(on_the_left ? ops::matmul(x, y) : ops::matmul(y, x));
      const auto result = [&](Dim line) { return product.at(on_the_left ? Dims{line, 5} : Dims{5, line}); };
      CHECK(result(0) == 0);
      CHECK(result(1) == INFINITY);
      CHECK(std::isnan(result(2)));
    }
  }
}

TEST_CASE("every f16 is multiplied exactly", "[half_product]") {
  // All finite numbers by powers of two, as a product with a diagonal matrix.
  Nd numbers = build({2 * 0x7c00 / 64, 64}, [](const IntDims& at) {
    const auto i = static_cast<std::uint16_t>(at[0] * 64 + at[1]);
    return static_cast<double>(
        to_float(Half{static_cast<std::uint16_t>(i < 0x7c00 ? i : 0x8000 + i - 0x7c00)}));
  });
  const Nd one = build({64, 64}, [](const IntDims& at) { return at[0] == at[1] ? 1.0 : 0.0; });
  const Tensor x = tensor_of(numbers, DType::F16), y = tensor_of(one, DType::F16);
  const Nd product = nd_of(ops::matmul(x, y));
  CHECK(product.values == numbers.values);
}

// ---- What tiles and vectors of pairs read and write ----

namespace {

// Any finite f16, or any bf16 in the normal range.
template <class T>
std::vector<T> some_halves(std::size_t count) {
  std::mt19937 engine(9);
  std::vector<T> result;
  while (result.size() < count) {
    const auto bits = static_cast<std::uint16_t>(engine());
    const bool is_taken = std::is_same_v<T, Half> ? (bits & 0x7c00) != 0x7c00
                                                  : (bits & 0x7f80) != 0 && (bits & 0x7f80) != 0x7f80;
    if (is_taken) result.push_back(T{bits});
  }
  return result;
}

template <class T>
void check_laid_alike() {
  using namespace cpu::tiles;
  constexpr std::int64_t kMostDepth = 70;
  const std::vector<T> by_line = some_halves<T>(kPanel * kMostDepth);
  std::vector<T> by_step(by_line.size(), T{0});
  for (std::int64_t line = 0; line < kPanel; ++line)
    for (std::int64_t p = 0; p < kMostDepth; ++p)
      by_step[static_cast<std::size_t>(p * kPanel + line)] =
          by_line[static_cast<std::size_t>(line * kMostDepth + p)];
  for (const int count : {1, 5, 15, 16, 17, 31, 32}) {
    for (const std::int64_t depth : {1, 2, 31, 32, 33, 63, 64, 65, 70}) {
      CAPTURE(count, depth);
      const Lines<T> lines{by_line.data(), kMostDepth, 1, count}, steps{by_step.data(), 1, kPanel, count};
      const auto size =
          static_cast<std::size_t>(kParts<T> * lines.tiles() * tile_steps(depth) * kTileElements);
      const auto laid = [&](auto lay, const Lines<T>& from) {
        std::vector<BFloat16> to(size, BFloat16{0x1234});
        CHECK(lay(from, depth, to.data()));
        return to;
      };
      const auto left = [](const Lines<T>& from, std::int64_t k, BFloat16* to) {
        return lay_left(from, k, to);
      };
      const auto right = [](const Lines<T>& from, std::int64_t k, BFloat16* to) {
        return lay_right(from, k, to);
      };
      const auto same = [](const std::vector<BFloat16>& a, const std::vector<BFloat16>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(BFloat16)) == 0;
      };
      CHECK(same(laid(left, lines), laid(left, steps)));
      CHECK(same(laid(right, lines), laid(right, steps)));
    }
  }
}

template <class T>
void check_rounded(DType dtype) {
  using namespace cpu::tiles;
  std::mt19937 engine(10);
  std::vector<float> sums(kPanel * kPanel);
  for (float& sum : sums) sum = static_cast<float>(engine()) * 0x1p-25f - 64;
  const Tensor expected =
      as(tensor_of(build({kPanel, kPanel},
                         [&](const IntDims& at) {
                           return static_cast<double>(sums[static_cast<std::size_t>(at[0] * kPanel + at[1])]);
                         }),
                   DType::F32),
         dtype);
  constexpr std::int64_t kRow = 40;
  for (const int rows : {1, 7, 32}) {
    for (const int columns : {1, 15, 16, 17, 31, 32}) {
      CAPTURE(rows, columns);
      std::vector<T> to(kPanel * kRow, T{0x1234});
      round_sums(sums.data(), rows, columns, to.data(), kRow);
      bool is_right = true;
      for (std::int64_t i = 0; i < kPanel; ++i) {
        for (std::int64_t j = 0; j < kRow; ++j) {
          const bool is_there = i < rows && j < columns;
          const std::uint16_t wanted = is_there ? expected.data<T>()[i * kPanel + j].bits : 0x1234;
          is_right = is_right && to[static_cast<std::size_t>(i * kRow + j)].bits == wanted;
        }
      }
      CHECK(is_right);
    }
  }
}

}  // namespace

TEST_CASE("panels of halves are laid out alike however their lines lie, and sums of them rounded",
          "[half_product]") {
  if (cpu::tiles::unit() == cpu::tiles::Unit::None) return;
  check_laid_alike<BFloat16>();
  check_laid_alike<Half>();
  check_rounded<BFloat16>(DType::BF16);
  check_rounded<Half>(DType::F16);
}

}  // namespace kiln::half_product_test
