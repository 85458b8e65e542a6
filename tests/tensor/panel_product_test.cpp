#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "every_isa.h"
#include "tensor/cpu/products/gemm.h"
#include "threads.h"

namespace kiln::panel_product_test {

using namespace kiln::test;
using kiln::testing::Threads;

// Products of f32 and f64, by panels where the processor has kernels for those and sizes are worth them.
namespace {

// Strides of a matrix: rows, or columns, that follow one another; far apart; with other elements between all;
// the same row again and again.
enum class Place { ByRow, ByColumn, FarRows, Gaps, OneRow };
constexpr Place kPlaces[] = {Place::ByRow, Place::ByColumn, Place::FarRows, Place::Gaps, Place::OneRow};

template <class T>
struct Matrix {
  std::vector<T> elements;
  cpu::MatrixView<T> view;

  Matrix(std::int64_t rows, std::int64_t columns, Place place, unsigned seed) {
    constexpr std::int64_t kFar = 600;
    switch (place) {
      case Place::ByRow:
        view = {nullptr, columns, 1};
        break;
      case Place::ByColumn:
        view = {nullptr, 1, rows};
        break;
      case Place::FarRows:
        view = {nullptr, columns + kFar, 1};
        break;
      case Place::Gaps:
        view = {nullptr, 2 * columns, 2};
        break;
      case Place::OneRow:
        view = {nullptr, 0, 1};
        break;
    }
    elements.resize(static_cast<std::size_t>((rows - 1) * view.row + (columns - 1) * view.column + 1));
    std::mt19937 engine(seed);
    for (T& each : elements) each = static_cast<T>(static_cast<double>(engine()) * 0x1p-31 - 1);
    view.data = elements.data();
  }
  T at(std::int64_t i, std::int64_t j) const { return view.data[i * view.row + j * view.column]; }
};

// How far sums of products of numbers below 1 may be from the right ones, added up one after the other.
template <class T>
double allowed(std::int64_t k) {
  return static_cast<double>(std::numeric_limits<T>::epsilon()) * (static_cast<double>(k) / 2 + 40);
}

template <class T>
std::vector<T> product(const Matrix<T>& a, const Matrix<T>& b, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  std::vector<T> c(static_cast<std::size_t>(m * n), T{-77});
  const cpu::Product<T> one{a.view, b.view, c.data()};
  cpu::multiply<T>({&one, 1}, m, n, k);
  return c;
}

using Sums = std::vector<long double>;

template <class T>
Sums exact_product(const Matrix<T>& a, const Matrix<T>& b, std::int64_t m, std::int64_t n, std::int64_t k) {
  Sums sums(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        sums[static_cast<std::size_t>(i * n + j)] += static_cast<long double>(a.at(i, p)) * b.at(p, j);
  return sums;
}
template <class T>
double worst_of(const std::vector<T>& c, const Sums& sums) {
  long double worst = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) worst = std::max(worst, std::abs(sums[i] - c[i]));
  return static_cast<double>(worst);
}

// (a b) v = a (b v) in a wider type: what is far too much to be added up for each element. One wrong element
// of the product is seen, too.
template <class T>
double worst_of_large(std::int64_t m, std::int64_t n, std::int64_t k, Place left, Place right) {
  const Matrix<T> a(m, k, left, 3), b(k, n, right, 4), v(n, 1, Place::ByRow, 5);
  const std::vector<T> c = product(a, b, m, n, k);
  std::vector<long double> bv(static_cast<std::size_t>(k));
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t j = 0; j < n; ++j)
      bv[static_cast<std::size_t>(p)] += static_cast<long double>(b.at(p, j)) * v.at(j, 0);
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    long double expected = 0, actual = 0;
    for (std::int64_t p = 0; p < k; ++p) expected += a.at(i, p) * bv[static_cast<std::size_t>(p)];
    for (std::int64_t j = 0; j < n; ++j)
      actual += static_cast<long double>(c[static_cast<std::size_t>(i * n + j)]) * v.at(j, 0);
    worst = std::max(worst, static_cast<double>(std::abs(actual - expected)));
  }
  return worst;
}

// m, n, k: whole panels of any instruction set, and lines more or fewer; less and more than a part of the
// depth; one panel of rows, a few and many rows, which are laid out in other ways; short sums.
constexpr std::int64_t kSizes[][3] = {
    {48, 48, 48},  {64, 96, 384},  {37, 91, 131},  {3, 200, 70}, {4, 49, 1000}, {8, 130, 90},
    {9, 33, 400},  {12, 20, 777},  {100, 5, 90},   {70, 2, 300}, {260, 70, 50}, {300, 31, 49},
    {530, 45, 64}, {700, 17, 100}, {129, 150, 17}, {90, 100, 1}, {80, 90, 3},   {100, 110, 16},
    {65, 64, 47},  {33, 33, 33},   {2, 2, 20000},  {21, 43, 30}, {64, 130, 5},  {300, 33, 9},
    {12, 77, 64},  {66, 60, 63},   {1000, 9, 8},
};

}  // namespace

TEMPLATE_TEST_CASE("products of matrices are right, however they lie", "[panel_product]", float, double) {
  for (const auto& [m, n, k] : kSizes)
    for (const Place left : kPlaces)
      for (const Place right : kPlaces) {
        CAPTURE(m, n, k, static_cast<int>(left), static_cast<int>(right));
        const Matrix<TestType> a(m, k, left, 1), b(k, n, right, 2);
        const Sums sums = exact_product(a, b, m, n, k);
        every_isa([&, m = m, n = n, k = k] {
          CHECK(worst_of(product(a, b, m, n, k), sums) <= allowed<TestType>(k));
        });
      }
}

TEMPLATE_TEST_CASE("large products are right", "[panel_product]", float, double) {
  struct Large {
    std::int64_t m, n, k;
    Place left, right;
  };
  // Right panels that are laid out in two turns; blocks of rows; long sums for few results; few rows by
  // strips of columns; short sums.
  constexpr Large kLarge[] = {
      {520, 5300, 800, Place::ByRow, Place::ByRow},    {600, 700, 500, Place::ByColumn, Place::ByColumn},
      {700, 800, 400, Place::ByRow, Place::ByColumn},  {600, 500, 100, Place::FarRows, Place::FarRows},
      {60, 70, 16 * 512, Place::ByRow, Place::ByRow},  {50, 90, 9001, Place::ByColumn, Place::ByRow},
      {13, 200, 20000, Place::Gaps, Place::ByColumn},  {20, 20001, 40, Place::ByRow, Place::ByRow},
      {61, 9000, 63, Place::ByColumn, Place::FarRows}, {2000, 900, 12, Place::ByRow, Place::ByRow},
  };
  every_isa([&] {
    for (const auto& [m, n, k, left, right] : kLarge) {
      CAPTURE(m, n, k, static_cast<int>(left), static_cast<int>(right));
      CHECK(worst_of_large<TestType>(m, n, k, left, right) <=
            allowed<TestType>(k) * std::sqrt(static_cast<double>(n)));
    }
  });
}

TEMPLATE_TEST_CASE("products have the same bits on any number of threads", "[panel_product]", float, double) {
  const Threads restored(1);
  every_isa([] {
    for (const auto& [m, n, k] : {std::tuple<int, int, int>{300, 400, 500},
                                  {520, 700, 60},
                                  {8, 900, 400},
                                  {60, 70, 9000},
                                  {20, 9000, 30},
                                  {200, 300, 90}}) {
      for (const Place left : {Place::ByRow, Place::ByColumn}) {
        for (const Place right : {Place::ByRow, Place::ByColumn, Place::FarRows}) {
          CAPTURE(m, n, k, static_cast<int>(left), static_cast<int>(right));
          const Matrix<TestType> a(m, k, left, 6), b(k, n, right, 7);
          set_num_threads(1);
          const std::vector<TestType> expected = product(a, b, m, n, k);
          for (const int threads : {2, 3, 7}) {
            set_num_threads(threads);
            CHECK(product(a, b, m, n, k) == expected);
          }
        }
      }
    }
  });
}

TEMPLATE_TEST_CASE("batches of products are those products, handed out once, when they are there",
                   "[panel_product]", float, double) {
  const Threads three(3);
  every_isa([] {
    for (const int count : {1, 3, 20}) {
      for (const auto& [m, n, k] : {std::tuple<int, int, int>{70, 90, 64},
                                    {600, 40, 50},
                                    {300, 130, 70},
                                    {20, 30, 9000},
                                    {5, 300, 80},
                                    {40, 30, 3},
                                    {28, 28, 28},
                                    {1, 90, 80}}) {
        CAPTURE(count, m, n, k);
        const auto size = static_cast<std::size_t>(m * n);
        std::vector<Matrix<TestType>> lefts, rights;
        std::vector<TestType> c(size * static_cast<std::size_t>(count)), seen(c.size());
        std::vector<int> times(c.size());
        std::vector<cpu::Product<TestType>> products;
        for (int i = 0; i < count; ++i) {
          lefts.emplace_back(m, k, Place::ByRow, 10 + static_cast<unsigned>(i));
          rights.emplace_back(k, n, Place::ByRow, 50 + static_cast<unsigned>(i));
        }
        for (std::size_t i = 0; i < lefts.size(); ++i)
          products.push_back({lefts[i].view, rights[i].view, c.data() + i * size});
        const auto done = [&](std::int64_t begin, std::int64_t end) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            seen[i] = c[i];
            ++times[i];
          }
        };
        const RangeFn each(done);
        cpu::multiply<TestType>(products, m, n, k, &each);
        CHECK(std::all_of(times.begin(), times.end(), [](int once) { return once == 1; }));
        CHECK(seen == c);
        for (std::size_t i = 0; i < lefts.size(); ++i) {
          const std::vector<TestType> alone = product(lefts[i], rights[i], m, n, k);
          double worst = 0;
          for (std::size_t e = 0; e < size; ++e)
            worst = std::max(worst, static_cast<double>(std::abs(alone[e] - c[i * size + e])));
          CHECK(worst <= 2 * allowed<TestType>(k));
        }
      }
    }
  });
}

TEMPLATE_TEST_CASE("infinities and nan stay in their rows and columns", "[panel_product]", float, double) {
  constexpr std::int64_t kSide = 70;
  every_isa([] {
    Matrix<TestType> a(kSide, kSide, Place::ByRow, 8), b(kSide, kSide, Place::ByColumn, 9);
    a.elements[static_cast<std::size_t>(69 * kSide + 3)] = std::numeric_limits<TestType>::infinity();
    b.elements[static_cast<std::size_t>(67 * kSide + 5)] = std::numeric_limits<TestType>::quiet_NaN();
    const std::vector<TestType> c = product(a, b, kSide, kSide, kSide);
    for (std::int64_t i = 0; i < kSide; ++i)
      for (std::int64_t j = 0; j < kSide; ++j) {
        const TestType each = c[static_cast<std::size_t>(i * kSide + j)];
        if (j == 67)
          REQUIRE(std::isnan(each));
        else if (i == 69)
          REQUIRE(std::isinf(each));
        else
          REQUIRE(std::isfinite(each));
      }
  });
}

}  // namespace kiln::panel_product_test
