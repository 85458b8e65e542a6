// The stated bounds of tensor/math.h, over bit patterns of every size and over the ranges where functions
// bend.
#include <catch2/catch.hpp>

#include <cstring>
#include <limits>
#include <random>

#include "tensor/cpu/isa.h"
#include "tensor/math.h"
#include "tensor/ops/pointwise.h"
#include "tests/tensor/scalar_reference.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing::math_test {
namespace {

// How far `got` is from `want`, in units of the last place of the result's format. Zeros count by their sign.
template <class T>
double ulp_error(T got, long double want) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
  if (got == static_cast<T>(want) && want != 0) return std::isinf(want) || std::isinf(got) ? 0 : 0.5;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kWrong;
  const auto largest = static_cast<long double>(std::numeric_limits<T>::max());
  if (std::isinf(got)) return std::fabs(want) > largest * 0.9999999L ? 1 : kWrong;
  if (std::isinf(want)) return std::fabs(static_cast<long double>(got)) > largest * 0.9999999L ? 1 : kWrong;
  int exponent = 0;
  std::frexp(std::fabs(want), &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

template <class T>
constexpr T kEdges[] = {T(0),
                        T(-0.0),
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::denorm_min(),
                        -std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest(),
                        T(1),
                        T(-1),
                        T(0.5),
                        T(-0.5),
                        T(2),
                        T(3),
                        T(-3),
                        T(1e15),
                        T(1) + std::numeric_limits<T>::epsilon(),
                        T(1) - std::numeric_limits<T>::epsilon() / 2,
                        T(1.57079632679489661923),
                        T(3.14159265358979323846),
                        T(355)};

template <class T>
T any_bits(std::mt19937_64& engine) {
  T value;
  const std::uint64_t bits = engine();
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// Arguments: all bit patterns alike, where the function varies, and the edges.
template <class T>
std::vector<T> arguments(SampleRange range, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const double middle = (range.low + range.high) / 2, reach = (range.high - range.low) * 2;
  std::uniform_real_distribution<double> inside(range.low, range.high), wide(middle - reach, middle + reach);
  std::vector<T> result(std::begin(kEdges<T>), std::end(kEdges<T>));
  for (int i = 0; i < 20'000; ++i) {
    result.push_back(any_bits<T>(engine));
    result.push_back(static_cast<T>(inside(engine)));
    result.push_back(static_cast<T>(wide(engine)));
  }
  return result;
}

template <class T>
constexpr DType kType = sizeof(T) == 4 ? DType::F32 : DType::F64;

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  Tensor x = Tensor::empty(Dims{static_cast<Dim>(values.size())}, kType<T>);
  std::copy(values.begin(), values.end(), x.writable<T>());
  return x;
}

// Where no bound is stated: the reflections, and results of silu too small to be normal.
bool is_outside_of_reference(std::string_view op, long double x) {
  if (op == "lgamma") return std::signbit(x) && std::isfinite(x) && x != 0;
  if (op == "digamma") return !(x > 0) || std::isinf(x);
  if (op == "silu") return x < -80 && std::isfinite(x);
  return false;
}

template <class T>
void check_unary(const Op& op, const ScalarReference& reference) {
  const std::vector<T> xs = arguments<T>(op.pointwise->samples[0], 7);
  const Tensor y = call(op.name(), {tensor_of(xs)})[0];
  const T* got = y.data<T>();
  double worst = 0;
  T where = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto x = static_cast<long double>(xs[i]);
    if (is_outside_of_reference(op.name(), x)) continue;
    const long double want = reference.real(x, 0, 0);
    // Terms of digamma of about 1 cancel near its zero: there its bound is one of theirs.
    const bool cancels = op.name() == "digamma" && std::fabs(want) < 1;
    const double error =
        cancels ? static_cast<double>(std::fabs(got[i] - want) / std::numeric_limits<T>::epsilon())
                : ulp_error(got[i], want);
    if (error > worst) worst = error, where = xs[i];
  }
  INFO(op.name() << " " << name(kType<T>) << " of " << std::hexfloat << where);
  CHECK(worst <= (sizeof(T) == 8 && reference.ulp_f64 > 0 ? reference.ulp_f64 : reference.ulp));
}

template <class T>
void check_binary(const Op& op, const ScalarReference& reference) {
  std::vector<T> as = arguments<T>(op.pointwise->samples[0], 11),
                 bs = arguments<T>(op.pointwise->samples[1], 13);
  std::mt19937_64 engine(17);
  std::shuffle(bs.begin(), bs.end(), engine);
  for (const T a : kEdges<T>) {
    for (const T b : kEdges<T>) as.push_back(a), bs.push_back(b);
  }
  for (int i = 0; i < 2000; ++i) {  // whole numbers, which powers and remainders treat apart
    as.push_back(static_cast<T>(static_cast<int>(engine() % 41) - 20));
    bs.push_back(static_cast<T>(static_cast<int>(engine() % 41) - 20));
  }
  const Tensor y = call(op.name(), {tensor_of(as), tensor_of(bs)})[0];
  const T* got = y.data<T>();
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < as.size(); ++i) {
    const double error = ulp_error(got[i], reference.real(as[i], bs[i], 0));
    if (error > worst) worst = error, where = i;
  }
  INFO(op.name() << " " << name(kType<T>) << " of " << std::hexfloat << as[where] << ", " << bs[where]);
  CHECK(worst <= (sizeof(T) == 8 && reference.ulp_f64 > 0 ? reference.ulp_f64 : reference.ulp));
}

// floor_div of floats is checked by its relation to the remainder: quotients beyond the mantissa have no one
// answer.
bool has_bound(const Op& op, const ScalarReference* reference) {
  return reference != nullptr && reference->real && op.pointwise->rule != TypeRule::Predicate &&
         op.name() != "floor_div" && op.name() != "trunc_div";
}

}  // namespace

TEST_CASE("every elementwise op is within the bound its scalar function states", "[math]") {
  int checked = 0;
  for (const Op* op : OpTable::get().ops()) {
    if (op->pointwise == nullptr) continue;
    const ScalarReference* reference = scalar_reference(op->name());
    if (!has_bound(*op, reference) || op->pointwise->operands == 3) continue;
    ++checked;
    if (op->pointwise->operands == 1) {
      check_unary<float>(*op, *reference);
      check_unary<double>(*op, *reference);
    } else {
      check_binary<float>(*op, *reference);
      check_binary<double>(*op, *reference);
    }
  }
  CHECK(checked >= 45);
}

TEST_CASE("sines of huge arguments are reduced by all of pi", "[math]") {
  // sin(1e22) is a classic: reducing by 53 bits of pi gives garbage.
  const Tensor x = tensor_of<double>({1e22, 0x1.fffffffffffffp1023, 6381956970095103.0 * 0x1p797});
  const Tensor sines = ops::sin(x), cosines = ops::cos(x);
  const auto* y = sines.data<double>();
  CHECK(y[0] == Approx(-0.8522008497671888017727L).epsilon(1e-15));
  CHECK(y[1] == Approx(0.004961954789184062L).epsilon(1e-14));
  const auto* c = cosines.data<double>();
  CHECK(c[2] ==
        Approx(-4.68716592425462761112e-19L).epsilon(1e-12));  // the double nearest to a multiple of pi/2
}

// Results that are normal, subnormal and 0; the forms differ in how they move the exponent only.
TEST_CASE("both forms of exp give the same bits wherever both may be called", "[math]") {
  const auto check = []<class T>(T, T least) {
    using Bits = typename math::Format<T>::Bits;
    const auto same = [](T x) {
      if (math::exp_is_small(x))
        CHECK(math::to_bits(math::exp<true>(x)) == math::to_bits(math::exp<false>(x)));
    };
    const T most = math::ExpConstants<T>::kSmall;
    CHECK(math::exp_is_small(most));
    CHECK_FALSE(math::exp_is_small(std::nextafter(most, T(1000))));
    CHECK_FALSE(math::exp_is_small(std::numeric_limits<T>::quiet_NaN()));
    for (const T edge : kEdges<T>) same(edge);
    constexpr int kSteps = 400'000;
    for (int i = 0; i <= kSteps; ++i) same(least + (most - least) * static_cast<T>(i) / kSteps);
    // Where the power of two changes: an argument's neighbours, too.
    for (T n = std::floor(least * T(1.4427)); n < T(1.4427) * most; ++n) {
      const Bits at = math::to_bits(static_cast<T>((n + T(0.5)) * T(0.6931471805599453)));
      for (Bits k = 0; k < 16; ++k) same(math::from_bits(static_cast<Bits>(at - 8 + k)));
    }
  };
  check(float(), -106.0F);
  check(double(), -750.0);
}

TEST_CASE("one argument out of range leaves the others of its block as they were", "[math]") {
  struct Case {
    const char* op;
    double low, high, outside;
  };
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const Case& c : {Case{"sin", -50, 50, 1e30},
                          {"cos", -50, 50, 1e30},
                          {"tan", -50, 50, 1e30},
                          {"exp", -87, 87, 1000},
                          {"exp", -87, 87, NAN},
                          {"exp2", -126, 126, -2000},
                          {"log", 1e-30, 3, 0},
                          {"log2", 1e-30, 3, INFINITY},
                          {"log10", 1e-30, 3, -1},
                          {"sigmoid", -87, 87, -800},
                          {"silu", -87, 87, 1e10},
                          {"gelu", -9, 9, -30},
                          {"lgamma", 0.1, 20, -0.5},
                          {"digamma", 0.1, 20, -0.5},
                          {"polygamma", 0.1, 20, -0.5},
                          {"erfc", -5, 9, 30},
                          {"softplus", -30, 19, 200}}) {
      const Tensor plain = noise({1000}, dtype, 3, c.low, c.high);
      const Tensor spiked = ops::clone(plain);
      set_element(spiked, 777, c.outside);
      std::vector<NamedAttr> attrs;
      if (std::string_view(c.op) == "polygamma") attrs.push_back({"n", std::int64_t{1}});
      const Tensor a = call(c.op, {plain}, attrs)[0], b = call(c.op, {spiked}, attrs)[0];
      INFO(c.op << " " << name(dtype));
      for (int i = 0; i < 1000; ++i) {
        if (i != 777) CHECK(element(a, i) == element(b, i));
      }
    }
  }
}

TEST_CASE("one edge in a block of powers leaves the others as they were", "[math]") {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const Tensor x = noise({1000}, dtype, 3, 0.01, 8.0), y = noise({1000}, dtype, 4, -6.0, 6.0);
    const Tensor plain = call("pow", {x, y})[0];
    for (const double edge : {0.0, -0.0, -2.5, 2.0, 3.0, 0.5, double(INFINITY), double(NAN)}) {
      for (const bool in_base : {true, false}) {
        const Tensor bases = ops::clone(x), exponents = ops::clone(y);
        set_element(in_base ? bases : exponents, 777, edge);
        const Tensor powers = call("pow", {bases, exponents})[0];
        INFO(edge << " " << name(dtype));
        for (int i = 0; i < 1000; ++i) {
          if (i != 777) CHECK(element(plain, i) == element(powers, i));
        }
      }
    }
  }
}

// Every size from where it is 1 to where it is nothing: its square takes 7 bits of the exponent's argument.
TEST_CASE("erfc of f32 is within its bound wherever it varies", "[math]") {
  std::vector<float> xs;
  for (std::int32_t i = -2'000'000; i <= 5'155'000; i += 17)
    xs.push_back(static_cast<float>(i) * 0x1.0624dep-19F);
  const Tensor y = call("erfc", {tensor_of(xs)})[0];
  const ScalarReference& reference = *scalar_reference("erfc");
  double worst = 0;
  for (std::size_t i = 0; i < xs.size(); ++i)
    worst = std::max(worst, ulp_error(y.data<float>()[i], reference.real(xs[i], 0, 0)));
  CHECK(worst <= reference.ulp);
}

// What is lost is small beside x, and below zero in f32 beside the result, down to where that is nothing
// beside x.
TEST_CASE("gelu in both forms, to where it is x or nothing", "[math]") {
  for (const bool by_tanh : {false, true}) {
    std::vector<NamedAttr> attrs;
    if (by_tanh) attrs.push_back({"approximate", std::string("tanh")});
    const auto reference = [&](long double x) {
      const long double t = std::sqrt(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x);
      return by_tanh ? x / (1 + std::exp(-2 * t)) : 0.5L * x * std::erfc(-x / std::sqrt(2.0L));
    };
    std::vector<float> xs = {0.0F, -0.0F, 9.0F, -9.0F, 9.001F, -9.001F, 40.0F, -40.0F, 1e30F, -1e30F, 1e-40F};
    for (int i = 0; i < 40'000; ++i) xs.push_back(static_cast<float>(i - 20'000) * 0.0007F);
    const Tensor y = call("gelu", {tensor_of(xs)}, attrs)[0];
    const Tensor wide = call("gelu", {ops::to(tensor_of(xs), DType::F64)}, attrs)[0];
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const long double want = reference(xs[i]);
      const auto got = static_cast<long double>(y.data<float>()[i]);
      INFO(xs[i]);
      CHECK(std::fabs(got - want) <= 1.6e-7L * std::fabs(xs[i]));
      CHECK(std::fabs(wide.data<double>()[i] - want) <= 3e-16L * std::fabs(xs[i]));
      if (std::fabs(xs[i]) < 2 && xs[i] != 0) CHECK(std::fabs(got / want - 1) <= 5e-7L);
      CHECK(std::signbit(y.data<float>()[i]) == std::signbit(xs[i]));
    }
    CHECK(std::isinf(element(call("gelu", {tensor_of<float>({INFINITY})}, attrs)[0], 0)));
    CHECK(std::isnan(element(call("gelu", {tensor_of<float>({NAN})}, attrs)[0], 0)));
  }
}

TEST_CASE("halves convert to nearest even, for every half", "[math]") {
  Tensor halves = Tensor::empty(Dims{65536}, DType::F16);
  for (int i = 0; i < 65536; ++i) halves.writable<Half>()[i] = Half{static_cast<std::uint16_t>(i)};
  const Tensor floats = ops::to(halves, DType::F32);
  const Tensor back = ops::to(floats, DType::F16);
  for (int i = 0; i < 65536; ++i) {
    const int exponent = (i >> 10) & 31, mantissa = i & 1023;
    const float sign = (i & 0x8000) != 0 ? -1.0F : 1.0F;
    const float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                      : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    if (exponent < 31) CHECK(floats.data<float>()[i] == sign * value);
    if (exponent == 31 && mantissa == 0) CHECK(std::isinf(floats.data<float>()[i]));
    if (exponent == 31 && mantissa != 0) {
      CHECK(std::isnan(floats.data<float>()[i]));
    } else {
      CHECK(back.data<Half>()[i].bits == i);
    }
  }
}

TEST_CASE("halves become the same floats on every instruction set, those that are no numbers too", "[math]") {
  const cpu::Isa best = cpu::isa();
  // Every half, at every place of a vector: numbers beside what is none.
  const Tensor halves = Tensor::empty(Dims{3, 65537}, DType::F16);
  for (int i = 0; i < 3 * 65537; ++i) halves.writable<Half>()[i] = Half{static_cast<std::uint16_t>(i * 5)};
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_kernels(isa)) continue;
    cpu::set_isa(isa);
    const Tensor floats = ops::to(halves, DType::F32);
    bool right = true;
    for (int i = 0; i < 3 * 65537; ++i) {
      const float want = math::half_to_float(halves.data<Half>()[i].bits);
      right = right && math::to_bits(floats.data<float>()[i]) == math::to_bits(want);
    }
    INFO(name(isa));
    CHECK(right);
  }
  cpu::set_isa(best);
}

TEST_CASE("floats between two halves go to the nearer, ties to the even one", "[math]") {
  std::mt19937 engine(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto low = static_cast<std::uint16_t>(engine() % 0x7bff);
    const float a = to_float(Half{low}), b = to_float(Half{static_cast<std::uint16_t>(low + 1)});
    const float middle = (a + b) / 2;
    CHECK(to_half(middle).bits == (low % 2 == 0 ? low : low + 1));
    CHECK(to_half(std::nextafter(middle, a)).bits == low);
    CHECK(to_half(std::nextafter(middle, b)).bits == low + 1);
  }
}

}  // namespace kiln::testing::math_test
