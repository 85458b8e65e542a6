// The rows of ops/elementwise.def as ops, and their names as C++ functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "tensor/functions.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scalar.h"

namespace kiln {
namespace {

// ---- What derivatives in the rows are written with ----

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
constexpr double kTwoOverSqrtPi = 2.0 * std::numbers::inv_sqrtpi;
constexpr double kHalfSqrtPi = 0.5 / std::numbers::inv_sqrtpi;
constexpr std::string_view kNoOnnxFunction = "no operator of ONNX computes it";
constexpr std::string_view kNoOrder = "complex numbers have no order";
constexpr std::string_view kNoBits = "only bools and integers have bits";
constexpr std::string_view kNoDivisors = "only integers have divisors";

constexpr std::uint32_t kX = 1, kA = 1, kB = 2, kC = 4, kY = 8;
constexpr Saves saves_of(std::uint32_t reads) { return {reads & 7U, (reads & kY) != 0 ? 1U : 0U}; }

const Tensor none;

Tensor operator<(const Tensor& a, const Tensor& b) { return ops::lt(a, b); }
Tensor operator<=(const Tensor& a, double b) { return ops::le(a, Tensor::number(b)); }
Tensor operator>(const Tensor& a, double b) { return ops::gt(a, Tensor::number(b)); }

Tensor zero_like(const Tensor& g) { return ops::zeros_like(g); }
Tensor keep(const Tensor& mask, const Tensor& g) { return ops::where(mask, g, Tensor::number(0.0)); }
Tensor drop(const Tensor& mask, const Tensor& g) { return ops::where(mask, Tensor::number(0.0), g); }

// All of g where one operand won, half where both did. What lost is asked for: of nan and a number neither
// did, the result is nan, and both have the gradient, as in PyTorch.
Tensor share(const Tensor& g, const Tensor& lost, const Tensor& tied) {
  return ops::where(tied, g * 0.5, drop(lost, g));
}

// The derivative of the n-th. The last one that has a number stands for those after it: of both 0 or
// infinity.
Tensor polygamma_after(const Tensor& x, std::int64_t n) {
  static const Op& op = OpTable::get().at("polygamma");
  return rules::apply_one(op, {x}, {n < std::numeric_limits<std::int64_t>::max() ? n + 1 : n});
}

Tensor gelu_derivative(const Tensor& g, const Tensor& x, const Params& p) {
  if (p.v[0] == 0) {
    const Tensor below = (ops::erf(x * std::numbers::sqrt2 * 0.5) + 1.0) * 0.5;
    const Tensor density = ops::exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return g * (below + x * density);
  }
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCube = 0.044715;
  const Tensor square = x * x;
  const Tensor t = ops::tanh(x * (square * kCube + 1.0) * kScale);
  const Tensor slope = (square * (3.0 * kCube) + 1.0) * kScale;
  return g * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * slope * 0.5);
}

Tensor silu_derivative(const Tensor& g, const Tensor& x) {
  const Tensor s = ops::sigmoid(x);
  return g * (s * (x * (1.0 - s) + 1.0));
}

// i1(x) / x, or of i1e: 1/2 at 0, of which derivatives of this one are kept away.
Tensor over_argument(const Tensor& x, const Tensor& y) {
  const Tensor is_zero = ops::eq(x, Tensor::number(0.0));
  return ops::where(is_zero, Tensor::number(0.5), y / ops::masked_fill(x, is_zero, Tensor::number(1.0)));
}

// 1 / (x (1 - x)) within the bounds. Beyond them a clamped x does not move; without any there is no
// logarithm.
Tensor logit_derivative(const Tensor& g, const Tensor& x, const Params& p) {
  const bool is_clamped = !std::isnan(p.v[0]);
  const double low = is_clamped ? p.v[0] : 0.0;
  const Tensor outside =
      ops::logical_or(ops::lt(x, Tensor::number(low)), ops::gt(x, Tensor::number(1.0 - low)));
  const double beyond = is_clamped ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  return ops::where(outside, Tensor::number(beyond), g / (x * (1.0 - x)));
}

// 1 or -1, 0 where a is, nan where a is.
Tensor copysign_slope(const Tensor& a, const Tensor& b) {
  const Tensor size = ops::where(ops::isnan(a), a, ops::sign(a));
  return size * ops::copysign(ops::ones_like(a), b);
}

bool divides_exactly(const Params& p) { return p.v[0] != math::kTruncMode && p.v[0] != math::kFloorMode; }
Tensor div_derivative(const Tensor& g, const Tensor& b, const Params& p) {
  return divides_exactly(p) ? g / b : zero_like(g);
}
Tensor div_derivative_divisor(const Tensor& g, const Tensor& b, const Tensor& y, const Params& p) {
  return divides_exactly(p) ? -(g * (y / b)) : zero_like(g);
}

Tensor pow_derivative(const Tensor& g, const Tensor& a, const Tensor& b) {
  const Tensor exponent = b.dtype() == DType::Bool ? ops::to(b, g.dtype()) : b;
  const Tensor zero = Tensor::number(0.0);
  // The power of 0 (or nan) to -1 is kept away, also from derivatives of this one.
  const Tensor flat = ops::logical_and(ops::eq(exponent, zero), ops::logical_not(ops::gt(ops::abs(a), zero)));
  const Tensor base = ops::masked_fill(a, flat, Tensor::number(1.0));
  return drop(flat, g * (exponent * ops::pow(base, exponent - 1.0)));
}
Tensor pow_derivative_exponent(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& y) {
  const Tensor zero = Tensor::number(0.0);
  const Tensor flat = ops::logical_and(ops::eq(a, zero), ops::ge(b, zero));
  return drop(flat, g * (y * ops::log(ops::where(flat, Tensor::number(1.0), a))));
}

// x^2 + y^2; 1 at the origin, where angles have no derivative and 0 counts as one.
Tensor square_of_radius(const Tensor& y, const Tensor& x) {
  const Tensor square = y * y + x * x;
  return ops::masked_fill(square, ops::eq(square, Tensor::number(0.0)), Tensor::number(1.0));
}

// Bounds that were not given are absent. Of the subgradients at a bound it is the one of least norm, as in
// PyTorch since 2.14: none where the bound is a number, half for each where it is a tensor. Bounds that leave
// nothing between them have no ties.
Tensor both(const Tensor& a, const Tensor& b) { return a && b ? ops::logical_and(a, b) : a ? a : b; }
Tensor either(const Tensor& a, const Tensor& b) { return a && b ? ops::logical_or(a, b) : a ? a : b; }
Tensor tied_to(const Tensor& bound, const Tensor& x, const Tensor& min, const Tensor& max) {
  return both(ops::eq(x, bound), min && max ? ops::lt(min, max) : Tensor());
}
Tensor clamp_derivative(const Tensor& g, const Tensor& x, const Tensor& min, const Tensor& max) {
  Tensor tied;
  for (const Tensor* bound : {&min, &max}) {
    if (*bound && !bound->is_number()) tied = either(tied, tied_to(*bound, x, min, max));
  }
  if (!tied) return keep(both(min ? ops::gt(x, min) : Tensor(), max ? ops::lt(x, max) : Tensor()), g);
  const auto below = [&] { return min.is_number() ? ops::le(x, min) : ops::lt(x, min); };
  const auto above = [&] { return max.is_number() ? ops::ge(x, max) : ops::gt(x, max); };
  return share(g, either(min ? below() : Tensor(), max ? above() : Tensor()), tied);
}
// Of two bounds none has the gradient at nan, as in PyTorch.
Tensor clamp_derivative_min(const Tensor& g, const Tensor& x, const Tensor& min, const Tensor& max) {
  const Tensor tied = tied_to(min, x, min, max);
  if (!max) return share(g, ops::gt(x, min), tied);
  return ops::where(tied, g * 0.5, keep(both(ops::lt(x, min), ops::le(min, max)), g));
}
Tensor clamp_derivative_max(const Tensor& g, const Tensor& x, const Tensor& min, const Tensor& max) {
  const Tensor tied = tied_to(max, x, min, max);
  if (!min) return share(g, ops::lt(x, max), tied);
  return ops::where(tied, g * 0.5, keep(either(ops::gt(x, max), ops::lt(max, min)), g));
}

// ---- Rows ----

struct RowText {
  const char* name;
  const char* parameters;
  ComplexRule complex;
  OnnxRule onnx;
  const char* documentation;
  const char* example;
};

constexpr bool is_differentiable(TypeRule rule) {
  return rule != TypeRule::Predicate && rule != TypeRule::Bitwise && rule != TypeRule::Integer;
}

Identity identity_of(std::uint32_t flags) {
  using Kind = Identity::Kind;
  switch (flags & kIdentities) {
    case kUndoesItself:
      return {Kind::UndoesItself};
    case kSettles:
      return {Kind::Settles};
    case kOneIsNeutral:
      return {Kind::Neutral, 1.0, 1.0};
    case kOneIsNeutralRight:
      return {Kind::NeutralRight, 1.0, 1.0};
    case kZeroIsNeutral:  // -0.0 + 0.0 is 0.0, so of floats only -0.0 changes nothing
      return {Kind::Neutral, -0.0, 0.0};
    case kZeroIsNeutralRight:
      return {Kind::NeutralRight, 0.0, 0.0};
    case kIsSecond:
      return {Kind::SecondOperand};
    default:
      return {};
  }
}

void add_row(OpTable& table, const RowText& text, const Pointwise& row,
             std::initializer_list<std::uint32_t> reads, std::uint32_t flags) {
  const std::string_view parameters = text.parameters;
  Op op{.signature =
            Signature::parse(parameters[0] == '(' ? std::string(text.name).append(parameters) : parameters),
        .family = "elementwise",
        .documentation = text.documentation,
        .example = text.example,
        .infer = pointwise_infer,
        .batch = pointwise_batch,
        .pointwise = &row,
        .lowering = Lowering::Pointwise,
        .identity = identity_of(flags),
        .traits = (kPointwiseTraits | flags) & ~kRowFlags,
        .onnx = text.onnx,
        .complex = text.complex};
  if ((flags & kNoInplace) != 0) op.traits &= ~std::uint32_t{kInplace};
  if (!row.failure.empty()) op.effects |= kMayFail;
  if (is_differentiable(row.rule)) {
    op.vjp = pointwise_vjp;
    op.jvp = pointwise_jvp;
    for (const std::uint32_t read : reads) {
      op.saves_by_input.push_back(saves_of(read));
      op.saves = op.saves | saves_of(read);
    }
  } else {
    op.vjp = Rule<VjpFn>::none("the result is not a float");
    op.jvp = Rule<JvpFn>::none("the result is not a float");
  }
  table.add(std::move(op));
}

#define KILN_EXPRESSION(expression, reads) expression
#define KILN_READS(expression, reads) reads
#define KILN_IS_NONE(expression, reads) (std::string_view(#expression) == "none")
#define KILN_RANGE(low, high) \
  SampleRange { low, high }

// The derivative of one pair (expression, reads), in which operands have the given names.
#define KILN_DERIVATIVE(pair, NAMES)                                                              \
  (KILN_IS_NONE pair                                                                              \
       ? nullptr                                                                                  \
       : static_cast<Derivative>([]([[maybe_unused]] const Tensor& g, [[maybe_unused]] Inputs in, \
                                    [[maybe_unused]] const Tensor& y,                             \
                                    [[maybe_unused]] const Params& p) -> Tensor {                 \
           NAMES;                                                                                 \
           return KILN_EXPRESSION pair;                                                           \
         }))
#define KILN_X [[maybe_unused]] const Tensor& x = in[0]
#define KILN_AB [[maybe_unused]] const Tensor &a = in[0], &b = in[1]
#define KILN_ABC [[maybe_unused]] const Tensor &a = in[0], &b = in[1], &c = in[2]

constexpr int kNoMask = scalar::kNoMask;

#define KILN_UNARY(name, parameters, rule, body, guard, dx, range, flags, complex, onnx, documentation,      \
                   example)                                                                                  \
  {                                                                                                          \
    static const Pointwise row{kRow_##name,                                                                  \
                               1,                                                                            \
                               TypeRule::rule,                                                               \
                               kNoMask,                                                                      \
                               "",                                                                           \
                               {KILN_DERIVATIVE(dx, KILN_X)},                                                \
                               {KILN_RANGE range},                                                           \
                               (flags) & kRowFlags};                                                         \
    add_row(table, {#name, parameters, complex, onnx, documentation, example}, row, {KILN_READS dx}, flags); \
  }
#define KILN_BINARY(name, parameters, rule, body, guard, da, db, range_a, range_b, flags, failure, complex, \
                    onnx, documentation, example)                                                           \
  {                                                                                                         \
    static const Pointwise row{kRow_##name,                                                                 \
                               2,                                                                           \
                               TypeRule::rule,                                                              \
                               kNoMask,                                                                     \
                               failure,                                                                     \
                               {KILN_DERIVATIVE(da, KILN_AB), KILN_DERIVATIVE(db, KILN_AB)},                \
                               {KILN_RANGE range_a, KILN_RANGE range_b},                                    \
                               (flags) & kRowFlags};                                                        \
    add_row(table, {#name, parameters, complex, onnx, documentation, example}, row,                         \
            {KILN_READS da, KILN_READS db}, flags);                                                         \
  }
#define KILN_TERNARY(name, parameters, rule, body, mask, da, db, dc, range_a, range_b, range_c, flags, \
                     complex, onnx, documentation, example)                                            \
  {                                                                                                    \
    static const Pointwise row{                                                                        \
        kRow_##name,                                                                                   \
        3,                                                                                             \
        TypeRule::rule,                                                                                \
        mask,                                                                                          \
        "",                                                                                            \
        {KILN_DERIVATIVE(da, KILN_ABC), KILN_DERIVATIVE(db, KILN_ABC), KILN_DERIVATIVE(dc, KILN_ABC)}, \
        {KILN_RANGE range_a, KILN_RANGE range_b, KILN_RANGE range_c},                                  \
        (flags) & kRowFlags};                                                                          \
    add_row(table, {#name, parameters, complex, onnx, documentation, example}, row,                    \
            {KILN_READS da, KILN_READS db, KILN_READS dc}, flags);                                     \
  }

}  // namespace

void add_copy_ops(OpTable& table);

void add_elementwise_ops(OpTable& table) {
#include "tensor/ops/elementwise.def"
  add_copy_ops(table);
}

#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY

// ---- Functions ----

namespace {

// A row as `bind` wants it.
struct OpWithDefaults {
  const Op* op;
  Attrs defaults;
};
const OpWithDefaults& bound(int row) {
  static const std::vector<OpWithDefaults> all = [] {
    std::vector<OpWithDefaults> built(kRowCount);
    for (const Op* op : OpTable::get().ops()) {
      if (op->pointwise != nullptr) built[static_cast<std::size_t>(op->pointwise->row)] = {op, Attrs(*op)};
    }
    return built;
  }();
  return all[static_cast<std::size_t>(row)];
}

template <class... T>
Tensor call(int row, const T&... operands) {
  const OpWithDefaults& target = bound(row);
  const Tensor inputs[] = {operands...};
  return std::move(bind(*target.op, inputs, target.defaults)[0]);
}

Tensor bound_of(const Tensor& x, std::optional<double> value) {
  if (!value) return Tensor();
  return is_float(x.dtype()) ? Tensor::number(*value) : Tensor::number(static_cast<std::int64_t>(*value));
}

}  // namespace

namespace ops {

#define KILN_UNARY(name, ...) \
  Tensor name(const Tensor& x) { return call(kRow_##name, x); }
#define KILN_BINARY(name, ...) \
  Tensor name(const Tensor& a, const Tensor& b) { return call(kRow_##name, a, b); }
#define KILN_TERNARY(name, ...) \
  Tensor name(const Tensor& a, const Tensor& b, const Tensor& c) { return call(kRow_##name, a, b, c); }
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY

Tensor checked(const Tensor& x, const Tensor& holds, std::string message) {
  return rules::apply_one(*bound(kRow_checked).op, {x, holds}, {std::move(message)});
}

Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  return clamp(x, bound_of(x, min), bound_of(x, max));
}

Tensor add_(const Tensor& target, const Tensor& other) {
  const OpWithDefaults& add = bound(kRow_add);
  const Tensor inputs[] = {target, other};
  return bind_inplace(*add.op, inputs, add.defaults);
}

}  // namespace ops

Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }
Tensor operator+(const Tensor& a, double b) { return ops::add(a, Tensor::number(b)); }
Tensor operator-(const Tensor& a, double b) { return ops::sub(a, Tensor::number(b)); }
Tensor operator*(const Tensor& a, double b) { return ops::mul(a, Tensor::number(b)); }
Tensor operator/(const Tensor& a, double b) { return ops::div(a, Tensor::number(b)); }
Tensor operator/(const Tensor& a, Dim count) { return ops::div(a, Tensor::count(count)); }
Tensor operator+(double a, const Tensor& b) { return ops::add(Tensor::number(a), b); }
Tensor operator-(double a, const Tensor& b) { return ops::sub(Tensor::number(a), b); }
Tensor operator*(double a, const Tensor& b) { return ops::mul(Tensor::number(a), b); }
Tensor operator/(double a, const Tensor& b) { return ops::div(Tensor::number(a), b); }

}  // namespace kiln
