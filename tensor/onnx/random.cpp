// Rows that draw numbers: Kiln's own from the words of its generator, or those of whoever runs the model.
#include <cmath>
#include <limits>
#include <numbers>

#include "tensor/onnx/rules.h"
#include "tensor/ops/random.h"
#include "tensor/philox.h"

namespace kiln::onnx_rules {
namespace {

using Kind = Distribution::Kind;

// Words as numbers of 64 bits, low half first: [numbers, 2].
struct Halves {
  OnnxValue low, high;
};

class Draw {
 public:
  explicit Draw(const OnnxApplication& app) : app_(app), dtype_(app.result().dtype) {}

  OnnxValues floats(const Distribution& of) {
    const bool is_wide = dtype_ == DType::F64;
    const DType computed = is_wide ? DType::F64 : DType::F32;
    if (of.kind == Kind::Bernoulli) return finished(below(of.a));
    const OnnxValue numbers = of.kind == Kind::Normal ? normal(is_wide) : unit(words(is_wide), is_wide);
    const double scale = of.kind == Kind::Normal ? of.b : of.b - of.a;
    OnnxValue value = plus(times(truncated(numbers, of.kind), scale), of.a);
    if (of.kind == Kind::Uniform && of.a < of.b) {
      const OnnxValue is_inside = app_.node("Less", {value, app_.scalar(of.b, computed)});
      value = app_.node("Where", {is_inside, value, app_.scalar(of.a, computed)});
    }
    return finished(value);
  }

  // The high half of the product of a word of 64 bits and the range, which has less than 31, or is all
  // numbers but one: then it is the word less 1, and 0 of the word 0.
  OnnxValues integers(std::int64_t low, std::uint64_t range) {
    if (range == std::numeric_limits<std::uint64_t>::max()) return finished(nearly_all(low));
    if (range >= std::uint64_t{1} << 31)
      throw OpError(ErrorKind::Capture, "integers from more than 2^31 numbers, whose products leave 64 bits");
    const Halves halves = pairs(words(true));
    const OnnxValue carry = shifted(times(halves.low, static_cast<double>(range)), 32);
    const OnnxValue sum = app_.node("Add", {times(halves.high, static_cast<double>(range)), carry});
    return finished(plus(shifted(sum, 32), static_cast<double>(low)));
  }

  // 1 where a word is below the probability as a share of all words.
  OnnxValue below(double probability) {
    return app_.node("Less", {words(false), app_.scalar(std::ceil(probability * 0x1p32), DType::I64)});
  }
  OnnxValue below(const OnnxValue& probabilities) {
    const OnnxValue share = times(app_.cast(words(false), DType::F64), 0x1p-32);
    return app_.node("Less", {cut(share), app_.cast(probabilities, DType::F64)});
  }
  OnnxValues finished(const OnnxValue& value) { return {app_.cast(cut(value), dtype_)}; }

 private:
  Dim count() const {
    Dim product = 1;
    for (const Dim& size : app_.result().sizes) product *= size;
    return product;
  }
  OnnxValue words(bool is_wide) {
    return {app_.nodes.draw_words(ceil_div(count(), is_wide ? kWidePerBlock : kNarrowPerBlock)), DType::I64};
  }
  // As many elements as the result has, in its shape.
  OnnxValue cut(const OnnxValue& value) {
    const Dim total = count();
    const OnnxValue some = app_.slice(value, app_.ints({0}), app_.sizes(std::span(&total, 1)), 0);
    return app_.reshape(some, app_.result().sizes);
  }

  OnnxValue nearly_all(std::int64_t low) {
    const Halves halves = pairs(words(true));
    const auto integer = [&](std::int64_t number) { return app_.size(number); };
    const OnnxValue moved = app_.node("Mul", {halves.high, integer(std::int64_t{1} << 32)});
    const OnnxValue word = app_.node("Add", {moved, halves.low});
    const OnnxValue is_zero = app_.node("Equal", {word, integer(0)});
    const OnnxValue less = app_.node("Where", {is_zero, word, app_.node("Sub", {word, integer(1)})});
    return app_.node("Add", {less, integer(low)});
  }
  OnnxValue times(const OnnxValue& a, double b) { return app_.node("Mul", {a, app_.scalar(b, a.dtype)}); }
  OnnxValue plus(const OnnxValue& a, double b) { return app_.node("Add", {a, app_.scalar(b, a.dtype)}); }
  // Of numbers that are not negative.
  OnnxValue shifted(const OnnxValue& a, int bits) {
    return app_.node("Div", {a, app_.scalar(std::ldexp(1.0, bits), DType::I64)});
  }
  // Every second element from the first or second on.
  OnnxValue part(const OnnxValue& x, std::int64_t which) {
    const Dim pair[] = {-1, 2};
    return app_.gather(app_.node("Reshape", {x, app_.sizes(pair)}), app_.size(which), 1);
  }
  Halves pairs(const OnnxValue& words) { return {part(words, 0), part(words, 1)}; }

  // 53 bits of a word of 64: its high half, and what is left of the low one.
  OnnxValue upper_bits(const OnnxValue& words) {
    const Halves halves = pairs(words);
    return app_.node("Add", {times(halves.high, 0x1p21), shifted(halves.low, 11)});
  }
  OnnxValue unit(const OnnxValue& words, bool is_wide) {
    if (is_wide) return times(app_.cast(upper_bits(words), DType::F64), 0x1p-53);
    return times(app_.cast(shifted(words, 8), DType::F32), 0x1p-24);
  }
  OnnxValue positive(const OnnxValue& words, bool is_wide) {
    if (is_wide) return times(plus(app_.cast(upper_bits(words), DType::F64), 0.5), 0x1p-53);
    return app_.cast(plus(times(app_.cast(words, DType::F64), 0x1p-32), 0x1p-33), DType::F32);
  }

  // Box and Muller: the first number of a pair gives the radius, the second the angle.
  OnnxValue normal(bool is_wide) {
    const OnnxValue all = words(is_wide);
    const Dim pairs_of_words[] = {-1, 2, 2};
    OnnxValue first, second;
    if (is_wide) {
      const OnnxValue grouped = app_.node("Reshape", {all, app_.sizes(pairs_of_words)});
      const Dim flat[] = {-1};
      const auto number = [&](std::int64_t i) {
        return app_.node("Reshape", {app_.gather(grouped, app_.size(i), 1), app_.sizes(flat)});
      };
      first = number(0);
      second = number(1);
    } else {
      first = part(all, 0);
      second = part(all, 1);
    }
    const OnnxValue radius = app_.node("Sqrt", {times(app_.node("Log", {positive(first, is_wide)}), -2)});
    const OnnxValue angle = times(unit(second, is_wide), 2 * std::numbers::pi);
    const OnnxValue across = app_.node("Mul", {radius, app_.node("Cos", {angle})});
    const OnnxValue up = app_.node("Mul", {radius, app_.node("Sin", {angle})});
    const Dim flat[] = {-1};
    const OnnxValue both = app_.node("Concat", {app_.unsqueeze(across, {-1}), app_.unsqueeze(up, {-1})},
                                     {{"axis", std::int64_t{-1}}});
    return app_.node("Reshape", {both, app_.sizes(flat)});
  }

  // Halves keep fewer bits, so that a number below 1 never becomes 1.
  OnnxValue truncated(const OnnxValue& numbers, Kind kind) {
    const int bits = dtype_ == DType::F16 ? 11 : dtype_ == DType::BF16 ? 8 : 0;
    if (kind != Kind::Uniform || bits == 0) return numbers;
    const double scale = std::ldexp(1.0, bits);
    return times(app_.node("Floor", {times(numbers, scale)}), 1 / scale);
  }

  const OnnxApplication& app_;
  DType dtype_;
};

// The runtime's own numbers, of the same distribution.
OnnxValues drawn_at_runtime(const OnnxApplication& app, const Distribution* of) {
  const DType dtype = app.result().dtype;
  const bool is_normal = of != nullptr && of->kind == Kind::Normal;
  const OnnxValue like = app.expand(app.scalar(0, DType::F32), app.result().sizes);
  if (is_normal) {
    return {app.cast(app.node("RandomNormalLike", {like}, {{"mean", of->a}, {"scale", of->b}}), dtype)};
  }
  if (of != nullptr && of->kind == Kind::Uniform)
    return {app.cast(app.node("RandomUniformLike", {like}, {{"low", of->a}, {"high", of->b}}), dtype)};
  const OnnxValue unit = app.node("RandomUniformLike", {like}, {{"low", 0.0}, {"high", 1.0}});
  if (of != nullptr) return {app.cast(app.node("Less", {unit, app.scalar(of->a, DType::F32)}), dtype)};
  if (app.has(0)) return {app.cast(app.node("Less", {unit, app.input(0, DType::F32)}), dtype)};
  const auto* const first =
      app.attrs.op()->signature.parameters[0].name == "low" ? app.attrs.find<Dim>("low") : nullptr;
  const double low = first != nullptr ? static_cast<double>(first->fixed()) : 0;
  const double high = static_cast<double>(app.attrs.get<std::int64_t>("high"));
  const OnnxValue scaled = app.node("Mul", {unit, app.scalar(high - low, DType::F32)});
  const OnnxValue whole = app.node("Floor", {app.node("Add", {scaled, app.scalar(low, DType::F32)})});
  return {app.cast(whole, dtype)};
}

}  // namespace

OnnxValues draw(const OnnxApplication& app) {
  const auto* const row = app.op.lowering.as<lowering::Draw>();
  const Distribution of = row != nullptr ? row->distribution(app.attrs) : Distribution{};
  if (app.nodes.draws_at_runtime()) return drawn_at_runtime(app, row != nullptr ? &of : nullptr);
  Draw drawn(app);
  if (row != nullptr) return drawn.floats(of);
  if (app.has(0)) return {app.cast(drawn.below(app.input(0)), app.result().dtype)};
  const bool has_low = app.op.signature.parameters[0].name == "low";
  const std::int64_t low = has_low ? app.attrs.get<std::int64_t>("low") : 0;
  const auto high = static_cast<std::uint64_t>(app.attrs.get<std::int64_t>("high"));
  return drawn.integers(low, high - static_cast<std::uint64_t>(low));
}

}  // namespace kiln::onnx_rules
