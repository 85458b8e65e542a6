// Random numbers, and dropout. What is drawn is Kiln's: a seed of the model makes no other numbers.
#include <limits>

#include "onnx/import/call.h"
#include "tensor/functions.h"
#include "tensor/philox.h"

namespace kiln::onnx {
namespace {

// With training switched on a mask is drawn; else the elements are as they are.
Values dropout(Call& call) {
  const Tensor x = call.x(0);
  const double ratio = call.opset() >= 12 ? call.number(1, 0.5) : call.real("ratio", 0.5);
  const bool trains = call.opset() >= 12 && call.has(2) && call.number(2, 0) != 0;
  const Tensor all = ops::full(x.sizes(), Tensor::number(true), DType::Bool);
  if (!trains || ratio == 0) return {x, all};
  const Tensor kept = ops::ge(apply("rand_like", {ops::to(x, DType::F32)}), scalar(ratio, DType::F32));
  return {ops::to(ops::where(kept, x / (1 - ratio), scalar(0, x.dtype())), x.dtype()), kept};
}

DType dtype_asked(Call& call, DType otherwise) {
  const AttributeProto* type = call.attribute("dtype");
  return type == nullptr ? otherwise : dtype_of(static_cast<ElementType>(type->i));
}

Tensor drawn(Call& call, const Dims& sizes, DType dtype, bool is_normal) {
  const Tensor memory = ops::zeros(sizes, dtype);
  if (is_normal)
    return apply("normal_functional", {memory},
                 {{"mean", call.real("mean", 0)}, {"std", call.real("scale", 1)}});
  return apply("uniform", {memory}, {{"low", call.real("low", 0)}, {"high", call.real("high", 1)}});
}

template <bool IsNormal>
Values random(Call& call) {
  const std::optional<Dims> sizes = call.dims("shape");
  if (!sizes) call.refuse("has no shape");
  return {drawn(call, *sizes, dtype_asked(call, DType::F32), IsNormal)};
}

template <bool IsNormal>
Values random_like(Call& call) {
  const Tensor x = call.x(0);
  return {drawn(call, x.sizes(), dtype_asked(call, x.dtype()), IsNormal)};
}

Values bernoulli(Call& call) {
  const Tensor x = call.x(0);
  return {ops::to(apply("bernoulli", {x}), dtype_asked(call, x.dtype()))};
}

Values multinomial(Call& call) {
  const Tensor chosen = apply("multinomial", {ops::softmax(call.x(0), 1)},
                              {{"num_samples", Dim(call.integer("sample_size", 1))}, {"replacement", true}});
  return {ops::to(chosen, dtype_asked(call, DType::I32))};
}

// What the function `philox` of Kiln's exports gives: as i64 the words of a draw, four of 32 bits for each
// block. Integers from all of i64 but the last are the 64-bit words less 1; the word 0, one of 2^64, is taken
// for 1.
Values words_of_draw(Call& call) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min(),
                 kHigh = std::numeric_limits<std::int64_t>::max();
  const Dim pairs = call.an_int(2) * Dim(kWidePerBlock);
  const Tensor drawn = apply("randint.low", {},
                             {{"low", kLow}, {"high", kHigh}, {"size", Dims{pairs}}, {"dtype", DType::I64}});
  const auto number = [](std::int64_t value) { return Tensor::number(value); };
  const Tensor wide = apply("bitwise_xor", {drawn + number(1), number(kLow)});
  const Tensor mask = number(0xffffffff);
  const Tensor high = apply("bitwise_right_shift", {wide, number(32)});
  const Tensor halves[] = {apply("bitwise_and", {wide, mask}), apply("bitwise_and", {high, mask})};
  return {ops::reshape(ops::stack(halves, 1), Dims{pairs * Dim(2)})};
}

constexpr Operator kRandomOperators[] = {
    {"Bernoulli", bernoulli},
    {"Dropout", dropout},
    {"Multinomial", multinomial},
    {"RandomNormal", random<true>},
    {"RandomNormalLike", random_like<true>},
    {"RandomUniform", random<false>},
    {"RandomUniformLike", random_like<false>},
    {"philox", words_of_draw, kOpsDomain},
};

}  // namespace

std::span<const Operator> random_operators() { return kRandomOperators; }

}  // namespace kiln::onnx
