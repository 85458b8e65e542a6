// Fourier transforms: every short length and twenty long ones beside sums in f64, and equal bits however a
// line is computed.
#include <complex>
#include <numbers>

#include "every_isa.h"
#include "tensor/ops/fourier.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::fourier_test {

using namespace kiln::testing;
using kiln::test::every_isa;

namespace {

// Sums of so many terms would lose the digits that f64 is held to.
using Complex = std::complex<long double>;

constexpr std::int64_t kLong[] = {1000,  1009,  1024,  1080,  1323,  2048,   3125,   4093,   4096,   6561,
                                  10007, 16384, 19683, 30030, 65536, 100000, 131071, 196608, 262144, 500009};

// e^(2 pi i at / n).
Complex root(std::int64_t at, std::int64_t n) {
  constexpr long double kTurn = 2 * std::numbers::pi_v<long double>;
  return std::polar(1.0L, kTurn * static_cast<long double>(at) / static_cast<long double>(n));
}
// A multiplication of C++ looks for infinities.
Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
std::vector<Complex> roots_of(std::int64_t n) {
  std::vector<Complex> roots;
  for (std::int64_t k = 0; k < n; ++k) roots.push_back(root(k, n));
  return roots;
}
// The pairs of the last line, and the real numbers of it.
std::vector<Complex> pairs_of(const Tensor& x) {
  std::vector<Complex> pairs;
  const std::int64_t n = x.size(x.rank() - 2);
  for (std::int64_t i = x.numel().fixed() / 2 - n; i < x.numel().fixed() / 2; ++i)
    pairs.emplace_back(element(x, 2 * i), element(x, 2 * i + 1));
  return pairs;
}
std::vector<Complex> reals_of(const Tensor& x) {
  std::vector<Complex> reals;
  const std::int64_t n = x.size(x.rank() - 1);
  for (std::int64_t i = x.numel().fixed() - n; i < x.numel().fixed(); ++i)
    reals.emplace_back(element(x, i), 0.0L);
  return reals;
}
// One frequency of the transform, or of the inverse one times n.
Complex frequency(const std::vector<Complex>& x, std::int64_t k, bool inverse,
                  const std::vector<Complex>& roots) {
  const auto n = static_cast<std::int64_t>(x.size());
  Complex sum;
  for (std::int64_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) {
    const Complex& turn = roots[static_cast<std::size_t>(at)];
    sum += times(x[static_cast<std::size_t>(j)], inverse ? turn : std::conj(turn));
  }
  return sum;
}

// Compares frequencies 0, step, 2 step, … with sums: the error beside the size of a whole line's results.
void check_near(const std::vector<Complex>& x, const std::vector<Complex>& found, bool inverse, DType dtype,
                std::size_t step = 1) {
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<Complex> roots = roots_of(n);
  long double error = 0, size = 0;
  for (std::size_t k = 0; k < found.size(); k += step) {
    const Complex wanted = frequency(x, static_cast<std::int64_t>(k), inverse, roots);
    error += std::norm(found[k] - wanted);
    size += std::norm(wanted);
  }
  const long double unit = dtype == DType::F32 ? 4e-7L : 8e-16L;
  CAPTURE(n, inverse, name(dtype));
  CHECK(std::sqrt(error) <= unit * std::max(1.0L, std::log2(static_cast<long double>(n))) * std::sqrt(size));
}

// A line alone, or the last of some that do not fill a vector.
Dims lines_of(std::int64_t n) { return n % 3 == 0 ? Dims{19, n} : Dims{n}; }
Dims with_pairs(Dims sizes) {
  sizes.push_back(2);
  return sizes;
}

void check_length(std::int64_t n, const Dims& sizes, DType dtype, std::size_t step = 1) {
  const Tensor x = noise(with_pairs(sizes), dtype, static_cast<int>(n));
  check_near(pairs_of(x), pairs_of(ops::dft(x, false)), false, dtype, step);
  check_near(pairs_of(x), pairs_of(ops::dft(x, true, "forward")), true, dtype, step);
  const Tensor real = noise(sizes, dtype, static_cast<int>(n) + 1);
  const Tensor half = ops::rdft(real);
  check_near(reals_of(real), pairs_of(half), false, dtype, step);
  const std::vector<Complex> back = reals_of(ops::irdft(half, n)), begun = reals_of(real);
  for (std::size_t i = 0; i < back.size(); i += step)
    CHECK(std::abs(back[i] - begun[i]) < (dtype == DType::F32 ? 1e-5 : 1e-13));
}

// Everything that a length goes through, on other threads and instruction sets, alone and among others.
Tensors results_of(const Tensor& pairs) {
  const Dim n = pairs.size(pairs.rank() - 2);
  const Tensor real = ops::select(pairs, pairs.rank() - 1, 0);
  const Tensor half = ops::rdft(real, "ortho");
  return {ops::dft(pairs, false), ops::dft(pairs, true), half, ops::irdft(half, n)};
}
void check_same(const Tensors& a, const Tensors& b) {
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(same_bits(a[i], b[i]));
}

}  // namespace

TEST_CASE("transforms of all lengths up to 512 are the sums") {
  for (std::int64_t n = 1; n <= 512; ++n)
    for (const DType dtype : {DType::F32, DType::F64}) check_length(n, lines_of(n), dtype, n < 80 ? 1 : 23);
}

TEST_CASE("transforms of long lines are the sums") {
  for (const std::int64_t n : kLong) check_length(n, Dims{n}, DType::F32, static_cast<std::size_t>(n / 5));
  check_length(65536, Dims{65536}, DType::F64, 20011);
  check_length(65537, Dims{65537}, DType::F64, 20011);
}

TEST_CASE("transforms have the same bits on any threads and instruction set") {
  for (const std::int64_t n : {7, 16, 60, 64, 97, 128, 135, 1000, 1024, 1031, 32768}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      CAPTURE(n);
      const Tensor x = noise(Dims{n > 2000 ? 1 : 21, n, 2}, dtype, 5);
      const Tensors wanted = results_of(x);
      every_isa([&] {
        for (const int threads : {1, 2, 4}) {
          const Threads scope(threads);
          check_same(results_of(x), wanted);
        }
      });
      const Tensors alone = results_of(ops::select(x, 0, x.size(0) - 1));
      for (std::size_t i = 0; i < alone.size(); ++i)
        CHECK(same_bits(alone[i], ops::select(wanted[i], 0, x.size(0) - 1)));
    }
  }
}

TEST_CASE("transforms of other layouts are those of their elements") {
  for (const std::int64_t n : {6, 50, 210}) {
    const Tensor x = noise(Dims{3, n, 2}, DType::F32, 3);
    check_same(results_of(strided(x)), results_of(x));
    check_same(results_of(backwards(x)), results_of(x));
  }
}

TEST_CASE("transforms of no lines are empty") {
  CHECK(ops::dft(ops::zeros(Dims{0, 4, 2}), false).sizes() == Dims{0, 4, 2});
  CHECK(ops::rdft(ops::zeros(Dims{0, 4})).sizes() == Dims{0, 3, 2});
  CHECK(ops::irdft(ops::zeros(Dims{0, 3, 2}), 5).sizes() == Dims{0, 5});
}

}  // namespace kiln::fourier_test
