// Identities are exact: every one for every dtype on numbers of every kind, and none where it would not be.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/passes/passes.h"
#include "tests/jit/programs.h"
#include "tests/tensor/tensors.h"

namespace kiln::simplify_test {

using namespace kiln::jit;
using kiln::testing::same_bits;

namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                             DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

// Zeros of both signs, infinities, nan, and the ends of every type.
Tensor numbers_of(DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const double floats[] = {0.0, -0.0, 1.0, -1.0, 0.3, -2.5, inf, -inf, std::nan(""), 1e-40, 65504.0, 3e38};
  const double integers[] = {0, 1, -1, 2, 127, -128, 255, 32767, -32768, 2147483647.0, -2147483648.0, 5};
  const Tensor x = kiln::testing::make({12}, dtype, [&](std::int64_t i) {
    return (is_float(dtype) ? floats : integers)[static_cast<std::size_t>(i)];
  });
  if (dtype == DType::I64) kiln::testing::set_element(x, 0, 4611686018427387905.0L);  // no double
  return x;
}

// Appends an application where the op takes that dtype, and returns its result.
void check_all_dtypes(const std::function<ValueId(Builder&, ValueId x)>& write, std::vector<DType> shorter) {
  for (const DType dtype : kDTypes) {
    Builder builder;
    builder.graph.stage = Stage::Functional;
    const ValueId x = builder.input("x", Type{dtype, Device{}, {12}, false, std::nullopt});
    Tensors expected;
    const Tensor numbers = numbers_of(dtype);
    try {
      const ValueId y = write(builder, x);
      // A copy that the caller cannot take for x, whatever y becomes.
      const Node none;
      builder.graph.outputs = {
          Operand::of(builder.apply(OpTable::get().at("stack"), {Operand::of(y)}, {Dim(0)}, none)[0])};
      expected = evaluate(builder.graph, {&numbers, 1});
    } catch (const OpError&) {  // not of this dtype
      continue;
    }
    const Graph simple = dce(simplify(builder.graph));
    INFO(print_graph(builder.graph) << print_graph(simple));
    CHECK(same_bits(evaluate(simple, {&numbers, 1})[0], expected[0]));
    const bool is_shorter = simple.nodes.size() < builder.graph.nodes.size();
    CHECK(is_shorter == (std::find(shorter.begin(), shorter.end(), dtype) != shorter.end()));
  }
}

const std::vector<DType> kFloats{DType::F16, DType::BF16, DType::F32, DType::F64};
const std::vector<DType> kIntegers{DType::U8, DType::I8, DType::I16, DType::I32, DType::I64};
std::vector<DType> both(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const std::vector<DType> kNumbers = both(kFloats, kIntegers);
const std::vector<DType> kAll = both(kNumbers, {DType::Bool});

ValueId apply(Builder& builder, std::string_view op, std::vector<Operand> operands,
              std::vector<Attr> attrs = {}) {
  const Node none;
  return builder.apply(OpTable::get().at(op), std::move(operands), std::move(attrs), none)[0];
}
// `x op number`, or with the two the other way round.
auto with_number(std::string_view op, Number number, bool number_first = false) {
  return [=](Builder& builder, ValueId x) {
    const Operand a = Operand::of(x), b = Operand::of_number(number);
    return apply(builder, op, number_first ? std::vector{b, a} : std::vector{a, b});
  };
}
auto twice(std::string_view op) {
  return [=](Builder& builder, ValueId x) {
    return apply(builder, op, {Operand::of(apply(builder, op, {Operand::of(x)}))});
  };
}
auto cast_twice(DType first, DType second) {
  return [=](Builder& builder, ValueId x) {
    return apply(builder, "cast", {Operand::of(apply(builder, "cast", {Operand::of(x)}, {first}))}, {second});
  };
}

}  // namespace

TEST_CASE("a neutral number leaves the elements", "[jit][simplify]") {
  for (const bool first : {false, true}) {
    check_all_dtypes(with_number("mul", Dim(1), first), kNumbers);
    check_all_dtypes(with_number("mul", 1.0, first), kFloats);
    check_all_dtypes(with_number("mul", true, first), kAll);
    check_all_dtypes(with_number("add", Dim(0), first), kIntegers);
    check_all_dtypes(with_number("add", 0.0, first), {});
    check_all_dtypes(with_number("add", -0.0, first), kFloats);
  }
  check_all_dtypes(with_number("sub", Dim(0)), kNumbers);
  check_all_dtypes(with_number("sub", 0.0), kFloats);
  check_all_dtypes(with_number("sub", -0.0), {});
  check_all_dtypes(with_number("sub", Dim(0), true), {});
  check_all_dtypes(with_number("div", Dim(1)), kFloats);
  check_all_dtypes(with_number("div", Dim(1), true), {});
  check_all_dtypes(with_number("mul", Dim(2)), {});
}

TEST_CASE("a tensor filled with a neutral number is one", "[jit][simplify]") {
  const auto filled = [](Number number, std::int64_t size) {
    return [=](Builder& builder, ValueId x) {
      const ValueId full = apply(builder, "full", {Operand::of_number(number)},
                                 {Dims{size}, builder.type(x).dtype, std::monostate{}});
      return apply(builder, "mul", {Operand::of(full), Operand::of(x)});
    };
  };
  check_all_dtypes(filled(1.0, 12), kFloats);
  check_all_dtypes(filled(1.0, 1), kFloats);
  check_all_dtypes(filled(1.5, 12), {});
}

TEST_CASE("what undoes itself, or changes nothing the second time", "[jit][simplify]") {
  check_all_dtypes(twice("neg"), kNumbers);
  check_all_dtypes(twice("bitwise_not"), both(kIntegers, {DType::Bool}));
  check_all_dtypes(twice("logical_not"), {DType::Bool});
  for (const std::string_view op : {"abs", "relu", "floor", "ceil", "trunc"}) {
    INFO(op);
    for (const DType dtype : kDTypes) {
      const Tensor x = numbers_of(dtype);
      try {
        const Tensor once = kiln::testing::call(op, {x})[0];
        CHECK(same_bits(kiln::testing::call(op, {once})[0], once));
      } catch (const OpError&) {  // not of this dtype
      }
    }
  }
  check_all_dtypes(twice("exp"), {});
}

TEST_CASE("casts back from a wider type are left out, others stay", "[jit][simplify]") {
  for (const DType dtype : kDTypes) {
    for (const DType wide : kDTypes) {
      const auto back = [=](Builder& builder, ValueId x) { return cast_twice(wide, dtype)(builder, x); };
      INFO(name(dtype) << " through " << name(wide));
      Builder builder;
      builder.graph.stage = Stage::Functional;
      const ValueId x = builder.input("x", Type{dtype, Device{}, {12}, false, std::nullopt});
      const ValueId y = back(builder, x);
      builder.graph.outputs = {Operand::of(apply(builder, "stack", {Operand::of(y)}, {Dim(0)}))};
      const Graph simple = dce(simplify(builder.graph));
      const Tensor numbers = numbers_of(dtype);
      const Tensor expected = evaluate(builder.graph, {&numbers, 1})[0];
      CHECK(same_bits(evaluate(simple, {&numbers, 1})[0], expected));
      // The numbers above tell every narrower type from a wider one.
      const bool keeps = same_bits(ops::select(expected, 0, 0), numbers);
      CHECK((simple.nodes.size() == 1) == keeps);
    }
  }
}

}  // namespace kiln::simplify_test
