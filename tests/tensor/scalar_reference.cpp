#include "tests/tensor/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kiln::testing {
namespace {

using L = long double;
using W = std::int64_t;

constexpr L kNan = std::numeric_limits<L>::quiet_NaN();

L sigmoid(L x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
L log1p_exp(L x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
L floor_mod(L a, L b) {
  const L r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
L floor_quotient(L a, L b) {
  if (b == 0 || std::isnan(a) || std::isnan(b) || std::isinf(a)) return b == 0 ? a / b : kNan;
  if (std::isinf(b)) return a == 0 ? a / b : (a < 0) != (b < 0) ? -1.0L : 0.0L * a / b;
  return std::floor((a - floor_mod(a, b)) / b + 0.25L);  // a whole number but for rounding
}
L larger(L a, L b) {
  return std::isnan(a) || std::isnan(b) ? kNan : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
L smaller(L a, L b) {
  return std::isnan(a) || std::isnan(b) ? kNan : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
// Keeps zeros at a bound of the other sign.
L clamped(L x, L low, L high) {
  if (std::isnan(x) || std::isnan(low) || std::isnan(high)) return kNan;
  const L raised = x < low ? low : x;
  return raised > high ? high : raised;
}
L sign(L x) { return static_cast<L>((x > 0) - (x < 0)); }
// By recurrence and the asymptotic series.
L digamma(L x) {
  L sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  const L z = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x -
         z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z / 132))));
}

// By Newton's method on the logarithm of erfc, or on erf: concave functions, of which each step from the far
// side falls short of the zero.
L erfinv(L x) {
  const L a = std::fabs(x), slope = 1.128379167095512573896158903121545172L;
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<L>::infinity(), x) : kNan;
  L y = a < 0.5L ? a / slope : std::sqrt(-std::log1p(-a));
  for (int i = 0; i < 60; ++i) {
    const L flat = slope * std::exp(-y * y);
    y -= a < 0.5L ? (std::erf(y) - a) / flat
                  : -(std::log(std::erfc(y)) - std::log1p(-a)) * std::erfc(y) / flat;
  }
  return std::copysign(y, x);
}
// e^-|x| times the function of order n: by its series, whose terms are positive, or the asymptotic one.
L scaled_bessel(int n, L x) {
  const L a = std::fabs(x), sign = n == 1 && std::signbit(x) ? -1 : 1;
  if (std::isnan(a)) return a;
  if (std::isinf(a)) return sign * 0.0L;
  L term = 1, sum = 1;
  if (a < 30) {
    term = sum = n == 1 ? a / 2 : 1;
    for (int k = 1; k < 120; ++k) sum += term *= a * a / 4 / (static_cast<L>(k) * (k + n));
    return sign * sum * std::exp(-a);
  }
  for (int k = 1; k < 40; ++k) {
    const L odd = 2 * k - 1;
    sum += term *= -(4.0L * n - odd * odd) / (k * 8 * a);
  }
  return sign * sum / std::sqrt(2 * 3.14159265358979323846264338327950288L * a);
}
L bessel(int n, L x) {
  const L scaled = scaled_bessel(n, x), a = std::fabs(x);
  return a > 11000 ? std::copysign(std::numeric_limits<L>::infinity(), n == 1 ? x : 1.0L)
                   : scaled * std::exp(a);
}

W floor_div(W a, W b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
W floor_rem(W a, W b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
W power(W a, W b) {
  W result = 1;
  for (W i = 0; i < b; ++i) result = static_cast<std::int64_t>(result * a);
  return result;
}

#define REAL(expression) \
  []([[maybe_unused]] L a, [[maybe_unused]] L b, [[maybe_unused]] L c) -> L { return expression; }
#define WHOLE(expression) \
  []([[maybe_unused]] W a, [[maybe_unused]] W b, [[maybe_unused]] W c) -> W { return expression; }

const ScalarReference kReferences[] = {
    {"neg", REAL(-a), WHOLE(-a)},
    {"abs", REAL(std::fabs(a)), WHOLE(a < 0 ? -a : a)},
    {"sign", REAL(sign(a)), WHOLE((a > 0) - (a < 0))},
    {"sqrt", REAL(std::sqrt(a)), nullptr},
    {"rsqrt", REAL(1 / std::sqrt(a)), nullptr, 1.5},
    {"square", REAL(a* a), WHOLE(a* a)},
    {"reciprocal", REAL(1 / a), nullptr},
    {"exp", REAL(std::exp(a)), nullptr, 1},
    {"exp2", REAL(std::exp2(a)), nullptr, 1},
    {"expm1", REAL(std::expm1(a)), nullptr, 2},
    {"log", REAL(std::log(a)), nullptr, 1},
    {"log2", REAL(std::log2(a)), nullptr, 1.5, 1},
    {"log10", REAL(std::log10(a)), nullptr, 1.5, 1},
    {"log1p", REAL(std::log1p(a)), nullptr, 1},
    {"sin", REAL(std::sin(a)), nullptr, 1.5, 1},
    {"cos", REAL(std::cos(a)), nullptr, 1.5, 1},
    {"tan", REAL(std::tan(a)), nullptr, 2, 1},
    {"asin", REAL(std::asin(a)), nullptr, 1.5},
    {"acos", REAL(std::acos(a)), nullptr, 1.5},
    {"atan", REAL(std::atan(a)), nullptr, 1.5},
    {"sinh", REAL(std::sinh(a)), nullptr, 2},
    {"cosh", REAL(std::cosh(a)), nullptr, 1.5},
    {"tanh", REAL(std::tanh(a)), nullptr, 1.5},
    {"asinh", REAL(std::asinh(a)), nullptr, 1, 2},
    {"acosh", REAL(std::acosh(a)), nullptr, 1, 2},
    {"atanh", REAL(std::atanh(a)), nullptr, 1.5, 2},
    {"erf", REAL(std::erf(a)), nullptr, 2, 1},
    {"erfc", REAL(std::erfc(a)), nullptr, 2, 4},
    {"erfinv", REAL(erfinv(a)), nullptr, 0.51, 6},
    {"i0", REAL(bessel(0, a)), nullptr, 0.51, 5},
    {"i0e", REAL(scaled_bessel(0, a)), nullptr, 0.51, 4},
    {"i1", REAL(bessel(1, a)), nullptr, 0.51, 4},
    {"i1e", REAL(scaled_bessel(1, a)), nullptr, 0.51, 4},
    {"lgamma", REAL(std::lgamma(std::fabs(a))), nullptr, 1, 4},
    {"digamma", REAL(digamma(a)), nullptr, 1, 12},
    {"sigmoid", REAL(sigmoid(a)), nullptr, 2},
    {"log_sigmoid", REAL(0 - log1p_exp(-a)), nullptr, 2},
    {"relu", REAL(a > 0 || std::isnan(a) ? a : 0.0L), WHOLE(a > 0 ? a : 0)},
    {"silu", REAL(a* sigmoid(a)), nullptr, 2.5},
    {"floor", REAL(std::floor(a)), WHOLE(a)},
    {"ceil", REAL(std::ceil(a)), WHOLE(a)},
    {"round", REAL(std::nearbyint(a)), WHOLE(a)},
    {"trunc", REAL(std::trunc(a)), WHOLE(a)},
    {"frac", REAL(a - std::trunc(a)), nullptr},
    {"isnan", REAL(std::isnan(a)), WHOLE(0 * a)},
    {"isinf", REAL(std::isinf(a)), WHOLE(0 * a)},
    {"isfinite", REAL(std::isfinite(a)), WHOLE(0 * a + 1)},
    {"logical_not", REAL(a == 0), WHOLE(a == 0)},
    {"bitwise_not", nullptr, WHOLE(-a - 1)},
    {"add", REAL(a + b), WHOLE(a + b)},
    {"sub", REAL(a - b), WHOLE(a - b)},
    {"mul", REAL(a* b), WHOLE(a* b)},
    {"div", REAL(a / b), nullptr},
    {"floor_div", REAL(floor_quotient(a, b)), WHOLE(floor_div(a, b))},
    {"trunc_div", REAL(std::trunc(a / b)), WHOLE(b == 0 ? 0 : a / b)},
    {"remainder", REAL(floor_mod(a, b)), WHOLE(floor_rem(a, b))},
    {"fmod", REAL(std::fmod(a, b)), WHOLE(b == 0 ? 0 : a % b)},
    {"pow", REAL(std::pow(a, b)), WHOLE(power(a, b)), 1, 1.5},
    {"maximum", REAL(larger(a, b)), WHOLE(std::max(a, b))},
    {"minimum", REAL(smaller(a, b)), WHOLE(std::min(a, b))},
    {"atan2", REAL(std::atan2(a, b)), nullptr, 2},
    {"hypot", REAL(std::hypot(a, b)), nullptr, 1},
    {"copysign", REAL(std::copysign(a, b)), nullptr},
    {"gcd", nullptr, WHOLE(std::gcd(a, b))},
    {"lcm", nullptr, WHOLE(std::lcm(a, b))},
    {"straight_through", REAL(b), WHOLE(b)},
    {"eq", REAL(a == b), WHOLE(a == b)},
    {"ne", REAL(a != b), WHOLE(a != b)},
    {"lt", REAL(a < b), WHOLE(a < b)},
    {"le", REAL(a <= b), WHOLE(a <= b)},
    {"gt", REAL(a > b), WHOLE(a > b)},
    {"ge", REAL(a >= b), WHOLE(a >= b)},
    {"logical_and", REAL(a != 0 && b != 0), WHOLE(a != 0 && b != 0)},
    {"logical_or", REAL(a != 0 || b != 0), WHOLE(a != 0 || b != 0)},
    {"logical_xor", REAL((a != 0) != (b != 0)), WHOLE((a != 0) != (b != 0))},
    {"bitwise_and", nullptr, WHOLE(a& b)},
    {"bitwise_or", nullptr, WHOLE(a | b)},
    {"bitwise_xor", nullptr, WHOLE(a ^ b)},
    {"bitwise_left_shift", nullptr, WHOLE(a*(W{1} << static_cast<int>(b)))},
    {"bitwise_right_shift", nullptr, WHOLE(a >> static_cast<int>(b))},
    {"where", REAL(a != 0 ? b : c), WHOLE(a != 0 ? b : c)},
    {"masked_fill", REAL(b != 0 ? c : a), WHOLE(b != 0 ? c : a)},
    {"clamp", REAL(clamped(a, b, c)), WHOLE(std::min(std::max(a, b), c))},
    // By formulas that round on the way: bounds are relative to their terms, checked by ranges in the tests.
    {"polygamma", nullptr, nullptr},
    {"nextafter", nullptr, nullptr},  // of each dtype another number
    {"logit", nullptr, nullptr},
    {"checked", nullptr, nullptr},
    {"gelu", nullptr, nullptr},
    {"softplus", nullptr, nullptr},
    {"elu", nullptr, nullptr},
    {"leaky_relu", nullptr, nullptr},
    {"nan_to_num", nullptr, nullptr},
    {"lerp", nullptr, nullptr},
    {"add.alpha", nullptr, nullptr},
    {"sub.alpha", nullptr, nullptr},
    {"div.rounded", nullptr, nullptr},
};

}  // namespace

const ScalarReference* scalar_reference(std::string_view op) {
  const auto found = std::find_if(std::begin(kReferences), std::end(kReferences),
                                  [op](const ScalarReference& reference) { return reference.op == op; });
  return found == std::end(kReferences) ? nullptr : found;
}

}  // namespace kiln::testing
