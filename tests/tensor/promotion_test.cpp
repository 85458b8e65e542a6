// PyTorch's type promotion, written as data, and what elementwise ops refuse.
#include <catch2/catch.hpp>

#include "tests/tensor/tensors.h"

namespace kiln::testing::promotion_test {
namespace {

constexpr DType kOrder[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                            DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

// torch.promote_types, rows and columns in the order above.
constexpr const char* kPromotion[10][10] = {
    {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

Tensor ones(const Dims& sizes, DType dtype) {
  return make(sizes, dtype, [](auto) { return 1.0; });
}

struct ScalarCase {
  DType tensor;
  enum Kind { Bool, Int, Float } number;
  const char* result;
};
// With a tensor that has dimensions, a number raises the category only; then to i64 or the default float.
constexpr ScalarCase kScalars[] = {
    {DType::Bool, ScalarCase::Bool, "bool"},  {DType::Bool, ScalarCase::Int, "i64"},
    {DType::Bool, ScalarCase::Float, "f32"},  {DType::U8, ScalarCase::Int, "u8"},
    {DType::U8, ScalarCase::Float, "f32"},    {DType::I32, ScalarCase::Bool, "i32"},
    {DType::I32, ScalarCase::Int, "i32"},     {DType::I64, ScalarCase::Float, "f32"},
    {DType::F16, ScalarCase::Int, "f16"},     {DType::F16, ScalarCase::Float, "f16"},
    {DType::BF16, ScalarCase::Float, "bf16"}, {DType::F32, ScalarCase::Float, "f32"},
    {DType::F64, ScalarCase::Int, "f64"},
};

Tensor number(ScalarCase::Kind kind) {
  if (kind == ScalarCase::Bool) return Tensor::number(true);
  return kind == ScalarCase::Int ? Tensor::number(std::int64_t{1}) : Tensor::number(1.0);
}

std::string message_of(std::string_view op, const std::vector<Tensor>& inputs,
                       const std::vector<NamedAttr>& attrs = {}) {
  try {
    call(op, inputs, attrs);
  } catch (const OpError& error) {
    return std::string(name(error.kind())) + ": " + error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("two tensors promote as PyTorch's promote_types", "[promotion]") {
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      INFO(name(kOrder[a]) << " and " << name(kOrder[b]));
      CHECK(name(promote(kOrder[a], kOrder[b])) == kPromotion[a][b]);
      const Tensor sum = ops::mul(ones({2}, kOrder[a]), ones({2}, kOrder[b]));
      CHECK(name(sum.dtype()) == kPromotion[a][b]);
      CHECK(elements(sum) == std::vector<long double>{1, 1});
      CHECK(ops::lt(ones({2}, kOrder[a]), ones({2}, kOrder[b])).dtype() == DType::Bool);
    }
  }
}

TEST_CASE("numbers and 0-d tensors are weaker than tensors with dimensions", "[promotion]") {
  for (const ScalarCase& c : kScalars) {
    INFO(name(c.tensor) << " with number kind " << c.number);
    CHECK(name(ops::mul(ones({3}, c.tensor), number(c.number)).dtype()) == c.result);
    CHECK(name(ops::mul(number(c.number), ones({3}, c.tensor)).dtype()) == c.result);
    CHECK(name(ops::mul(ones({}, c.tensor), number(c.number)).dtype()) == c.result);
  }
  CHECK(ops::mul(ones({3}, DType::F32), ones({}, DType::F64)).dtype() == DType::F32);
  CHECK(ops::mul(ones({3}, DType::I32), ones({}, DType::F64)).dtype() == DType::F64);
  CHECK(ops::mul(ones({3}, DType::I8), ones({}, DType::I64)).dtype() == DType::I8);
  CHECK(ops::mul(ones({}, DType::F32), ones({}, DType::F64)).dtype() == DType::F64);
  CHECK(ops::mul(ones({3}, DType::Bool), ones({}, DType::I16)).dtype() == DType::I16);
}

TEST_CASE("numbers alone stay numbers, in double", "[promotion]") {
  const Tensor root = ops::sqrt(Tensor::number(2.0));
  CHECK(root.is_number());
  CHECK(root.dtype() == DType::F64);
  CHECK(ops::add(Tensor::number(std::int64_t{1}), Tensor::number(std::int64_t{2})).dtype() == DType::I64);
  const Tensor picked = ops::where(ones({2}, DType::Bool), Tensor::number(1.0), Tensor::number(0.0));
  CHECK(picked.dtype() == DType::F32);
  CHECK_FALSE(picked.is_number());
}

TEST_CASE("integers and bools become floats where the result is one", "[promotion]") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I32, DType::I64}) {
    CHECK(ops::exp(ones({2}, dtype)).dtype() == DType::F32);
    CHECK(ops::div(ones({2}, dtype), ones({2}, dtype)).dtype() == DType::F32);
  }
  CHECK(ops::exp(ones({2}, DType::F16)).dtype() == DType::F16);
  CHECK(ops::floor_div(ones({2}, DType::I16), ones({2}, DType::I16)).dtype() == DType::I16);
  CHECK(ops::masked_fill(ones({2}, DType::I16), ones({2}, DType::Bool), ones({}, DType::I64)).dtype() ==
        DType::I16);
}

TEST_CASE("what elementwise ops refuse, and what they say", "[elementwise][errors]") {
  const Tensor i = ones({2, 3}, DType::I64), f = ones({2, 3}, DType::F32), b = ones({2, 3}, DType::Bool);
  const Tensor zero = Tensor::number(std::int64_t{0}), less = Tensor::number(std::int64_t{-1});
  CHECK(message_of("add", {f, ones({2, 4}, DType::F32)}) ==
        "ShapeError: add: shapes [2, 3] and [2, 4] do not broadcast: dim -1 is 3 and 4");
  CHECK(message_of("neg", {b}) == "DTypeError: neg: bools have no such arithmetic, got bool");
  for (const Tensor& other : {b, i, Tensor::number(std::int64_t{1})}) {
    CHECK(message_of("sub", {b, other}) == "DTypeError: sub: bools have no difference, got bool");
    CHECK(message_of("sub", {other, b}) == "DTypeError: sub: bools have no difference, got bool");
  }
  CHECK(message_of("bitwise_and", {i, f}) ==
        "DTypeError: bitwise_and: only bools and integers have bits, got f32");
  CHECK(message_of("bitwise_left_shift", {f, i}) ==
        "DTypeError: bitwise_left_shift: the operands must be integers, got f32");
  CHECK(message_of("floor_div", {i, zero}) == "ValueError: floor_div: division of an integer by zero");
  CHECK(message_of("remainder", {i, zero}) == "ValueError: remainder: remainder of an integer by zero");
  CHECK(message_of("pow", {i, less}) ==
        "ValueError: pow: an integer to a negative power is not an integer; convert to a float first");
  CHECK(message_of("bitwise_left_shift", {i, Tensor::number(std::int64_t{64})}) ==
        "ValueError: bitwise_left_shift: a shift must be at least 0 and less than the number of bits");
  CHECK(message_of("bitwise_right_shift", {ones({2}, DType::I8), Tensor::number(std::int64_t{8})}) ==
        "ValueError: bitwise_right_shift: a shift must be at least 0 and less than the number of bits");
  CHECK(message_of("where", {f, f, f}) == "DTypeError: where: the condition must be bool, got f32");
  CHECK(message_of("masked_fill", {ones({2, 3}, DType::U8), b, Tensor::number(std::int64_t{256})}) ==
        "OverflowError: masked_fill: 256 does not fit in u8");
  CHECK(message_of("clamp", {f, Tensor(), Tensor()}) == "ValueError: clamp: give min, max or both");
  CHECK(message_of("gelu", {f}, {{"approximate", std::string("erf")}}) ==
        "ValueError: gelu: approximate cannot be \"erf\"");
  CHECK(message_of("add.alpha", {i, i}, {{"alpha", 0.5}}) ==
        "DTypeError: add: alpha must be an int for i64 operands");
}

}  // namespace kiln::testing::promotion_test
