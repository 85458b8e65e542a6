// Flow graphs: their text, what is wrong with them, and what they mean.
#include <catch2/catch.hpp>

#include <limits>

#include "jit/flow/number_value.h"
#include "tensor/interrupt.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

FlowResult run(const FlowBuilder& builder, std::vector<FlowValue> inputs) {
  REQUIRE(find_fault(builder.flow) == "");
  return evaluated(builder.made())->run(inputs);
}
std::int64_t int_of(const FlowValue& value) { return std::get<std::int64_t>(value.number); }
bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

std::optional<FlowNumber> computed(NumberOp op, std::vector<FlowNumber> operands) {
  return compute(op, operands);
}
FlowNumber whole(std::int64_t value) { return value; }

}  // namespace

TEST_CASE("ints have the language's meaning, and fail where it raises", "[jit][flow]") {
  CHECK(computed(NumberOp::Add, {whole(2), whole(3)}) == whole(5));
  CHECK_FALSE(computed(NumberOp::Add, {whole(kMost), whole(1)}));
  CHECK_FALSE(computed(NumberOp::Mul, {whole(kMost), whole(2)}));
  CHECK(computed(NumberOp::Div, {whole(7), whole(2)}) == FlowNumber(3.5));
  CHECK_FALSE(computed(NumberOp::Div, {whole(7), whole(0)}));
  CHECK(computed(NumberOp::FloorDiv, {whole(-7), whole(2)}) == whole(-4));
  CHECK_FALSE(computed(NumberOp::FloorDiv, {whole(kLeast), whole(-1)}));
  CHECK(computed(NumberOp::Mod, {whole(-7), whole(3)}) == whole(2));
  CHECK(computed(NumberOp::Mod, {whole(7), whole(-3)}) == whole(-2));
  CHECK(computed(NumberOp::Mod, {whole(kLeast), whole(-1)}) == whole(0));
  CHECK(computed(NumberOp::Pow, {whole(3), whole(4)}) == whole(81));
  CHECK_FALSE(computed(NumberOp::Pow, {whole(3), whole(-1)}));
  CHECK_FALSE(computed(NumberOp::Pow, {whole(3), whole(64)}));
  CHECK(computed(NumberOp::ShiftLeft, {whole(-1), whole(63)}) == whole(kLeast));
  CHECK_FALSE(computed(NumberOp::ShiftLeft, {whole(1), whole(63)}));
  CHECK_FALSE(computed(NumberOp::ShiftLeft, {whole(1), whole(-1)}));
  CHECK(computed(NumberOp::ShiftRight, {whole(-8), whole(100)}) == whole(-1));
  CHECK_FALSE(computed(NumberOp::Negate, {whole(kLeast)}));
  CHECK(computed(NumberOp::Absolute, {whole(-3)}) == whole(3));
  CHECK(computed(NumberOp::Index, {whole(-1), whole(4)}) == whole(3));
  CHECK_FALSE(computed(NumberOp::Index, {whole(4), whole(4)}));
  CHECK_FALSE(computed(NumberOp::Index, {whole(-5), whole(4)}));
  CHECK(computed(NumberOp::SliceBound, {whole(-9), whole(4)}) == whole(0));
  CHECK(computed(NumberOp::SliceBound, {whole(kMost), whole(4)}) == whole(4));
}

TEST_CASE("floats and bools have the language's meaning", "[jit][flow]") {
  CHECK(computed(NumberOp::Mod, {-7.5, 2.0}) == FlowNumber(0.5));
  CHECK(computed(NumberOp::FloorDiv, {-7.5, 2.0}) == FlowNumber(-4.0));
  CHECK_FALSE(computed(NumberOp::Div, {1.0, 0.0}));
  CHECK_FALSE(computed(NumberOp::Mod, {1.0, 0.0}));
  CHECK_FALSE(computed(NumberOp::Pow, {0.0, -1.0}));
  CHECK(computed(NumberOp::ToInt, {-2.9}) == whole(-2));
  CHECK_FALSE(computed(NumberOp::ToInt, {0x1p63}));
  CHECK_FALSE(computed(NumberOp::ToInt, {std::nan("")}));
  CHECK(computed(NumberOp::ToInt, {-0x1p63}) == whole(kLeast));
  const double nan = std::nan("");
  CHECK(std::isnan(
      std::get<double>(*computed(NumberOp::Minimum, {nan, 1.0}))));  // the first, unless one is less
  CHECK(computed(NumberOp::Minimum, {1.0, nan}) == FlowNumber(1.0));
  CHECK(computed(NumberOp::ToBool, {nan}) == FlowNumber(true));
  CHECK(computed(NumberOp::And, {true, false}) == FlowNumber(false));
  CHECK(computed(NumberOp::Not, {true}) == FlowNumber(false));
  CHECK(computed(NumberOp::ToFloat, {true}) == FlowNumber(1.0));
  CHECK(computed(NumberOp::Select, {false, whole(1), whole(2)}) == whole(2));
}

TEST_CASE("ops of numbers are found by what they are", "[jit][flow]") {
  for (int k = 0; k <= static_cast<int>(NumberOp::Call); ++k)
    CHECK(number_op_of(number_op(static_cast<NumberOp>(k))) == static_cast<NumberOp>(k));
  CHECK_FALSE(number_op_of(OpTable::get().at("add")));
  CHECK(number_of(symbol_of(12)) == 12);
  CHECK_FALSE(number_of("s12"));
  CHECK_FALSE(number_of("n1x"));
}

TEST_CASE("a loop of numbers runs to its end", "[jit][flow]") {
  const FlowResult result = run(sum_of_squares(), {int_value(5)});
  CHECK(result.exit == 0);
  CHECK(int_of(result.values[0]) == 30);
  CHECK(int_of(result.values[1]) == 5);
  CHECK(result.iterations == 6);
}

TEST_CASE("a flow leaves in front of the step that fails", "[jit][flow]") {
  FlowBuilder b = sum_of_squares();
  b.flow.blocks[0].end.then.arguments = {of_int(kMost - 1), of_int(2)};
  const FlowResult result = run(b, {int_value(5)});
  CHECK(result.exit == 1);
  CHECK(int_of(result.values[0]) == kMost - 1);
  CHECK(int_of(result.values[1]) == 2);
}

TEST_CASE("a flow leaves where it is interrupted", "[jit][flow]") {
  interrupt_requested = true;
  let_interrupt_pass(3);
  const FlowResult result = run(sum_of_squares(), {int_value(5)});
  let_interrupt_pass(0);
  interrupt_requested = false;
  CHECK(result.exit == 2);
  CHECK(int_of(result.values[1]) == 3);
}

TEST_CASE("elements are written in the memory of the tensor itself", "[jit][flow]") {
  const Tensor x = kiln::testing::make({6}, DType::F32, [](std::int64_t i) { return i == 0 ? 1 : 0; });
  const Tensor y = kiln::testing::make({6}, DType::F32, [](std::int64_t i) { return i; });
  const auto version = x.storage()->version();
  const FlowResult result = run(running_sum(), {tensor_value(x), tensor_value(y), int_value(1)});
  CHECK(result.exit == 0);
  CHECK(kiln::testing::elements(x) == std::vector<long double>{1, 2, 4, 7, 11, 16});
  CHECK(x.storage()->version() > version);
}

TEST_CASE("an index out of range leaves before anything is written", "[jit][flow]") {
  const Tensor x = kiln::testing::make({4}, DType::F32, [](std::int64_t) { return 1; });
  const FlowResult result = run(running_sum(), {tensor_value(x), tensor_value(x), int_value(-4)});
  CHECK(result.exit == 1);
  CHECK(int_of(result.values[0]) == -4);
  CHECK(kiln::testing::elements(x) == std::vector<long double>{1, 1, 1, 1});
}

TEST_CASE("a guard that does not hold is an exit", "[jit][flow]") {
  FlowBuilder b("guarded");
  const ValueId x = b.input(DType::F32, {Dim::symbol("s0")});
  b.begin_block();
  const ExitId other = b.exit("other sizes come");
  const SizeGuard guard{SizeRelation::AtMost, Dim::symbol("s0"), Dim(4), "narrow", ""};
  const ValueId made = b.step("exp", {of(x)}, {}, other, {guard});
  b.leave(b.exit("done", {of(made)}));
  CHECK(run(b, {tensor_value(kiln::testing::noise({4}, DType::F32, 1))}).exit == 1);
  CHECK(run(b, {tensor_value(kiln::testing::noise({5}, DType::F32, 1))}).exit == 0);
}

TEST_CASE("an error of an op is an exit", "[jit][flow]") {
  FlowBuilder b("quotients");
  const ValueId x = b.input(DType::I64, {}), y = b.input(DType::I64, {});
  b.begin_block();
  const ExitId failed = b.exit("a division by zero");
  const ValueId made = b.step("floor_div", {of(x), of(y)}, {}, failed);
  b.leave(b.exit("done", {of(b.number(NumberOp::Item, {of(made)}, failed))}));
  const auto one = [](double value) {
    return tensor_value(kiln::testing::make({}, DType::I64, [value](std::int64_t) { return value; }));
  };
  CHECK(int_of(run(b, {one(7), one(2)}).values.at(0)) == 3);
  CHECK(run(b, {one(7), one(0)}).exit == failed);
}

TEST_CASE("functions of the table are called on floats", "[jit][flow]") {
  FlowBuilder b("roots");
  const ValueId x = b.input_float();
  b.begin_block();
  FlowStep step;
  step.node.op = &number_op(NumberOp::Call);
  step.node.attrs = {std::string("sqrt")};
  step.node.operands = {of(x)};
  step.node.outputs = {1};
  b.flow.values.push_back({"", b.flow.type(x)});
  b.flow.blocks.back().steps.push_back(step);
  b.leave(b.exit("done", {of(1)}));
  CHECK(std::get<double>(run(b, {float_value(2.25)}).values.at(0).number) == 1.5);
}

TEST_CASE("flows are printed by blocks", "[jit][flow]") {
  CHECK(to_string(sum_of_squares().flow) ==
        "flow sum_of_squares:2(n0: int) {\n"
        "block 0:\n"
        "  jump block 1(0, 0)\n"
        "block 1(n1: int, n2: int) begins a loop, interrupted: exit 2:\n"
        "  n3 = number.less n2, n0\n"
        "  if n3 jump block 2 else block 3\n"
        "block 2:\n"
        "  n4 = number.mul n2, n2 else exit 1\n"
        "  n5 = number.add n1, n4 else exit 1\n"
        "  n6 = number.add n2, 1\n"
        "  jump block 1(n5, n6)\n"
        "block 3:\n"
        "  leave by exit 0\n"
        "exit 0(n1, n2) because the loop is done\n"
        "exit 1(n1, n2) because an int leaves 64 bits\n"
        "exit 2(n1, n2) because it was interrupted\n"
        "}\n");
  CHECK(mentions(to_string(running_sum().flow), "  %7 = select(%0, dim=0, index=n6) : f32[]\n"));
}

TEST_CASE("each fault of a flow is found", "[jit][flow]") {
  FlowBuilder b = sum_of_squares();
  FlowGraph& flow = b.flow;
  REQUIRE(find_fault(flow) == "");
  SECTION("a value that not every way defines") {
    flow.exits[0].values.push_back(of(4));
    CHECK(mentions(find_fault(flow), "value 4 is not defined on every way"));
  }
  SECTION("a value without definition") {
    flow.values.push_back(flow.values[0]);
    CHECK(find_fault(flow) == "nothing defines n7");
  }
  SECTION("two definitions") {
    flow.blocks[2].steps[1].node.outputs = {4};
    CHECK(find_fault(flow) == "n4 is defined twice");
  }
  SECTION("arguments") {
    flow.blocks[0].end.then.arguments.pop_back();
    CHECK(find_fault(flow) == "block 1 has 2 parameters, 1 arguments are given");
  }
  SECTION("types of arguments") {
    flow.blocks[0].end.then.arguments[0] = Operand::of_number(1.5);
    CHECK(mentions(find_fault(flow), "the parameter n1 of block 1 is i64[] number, a f64[] number is given"));
  }
  SECTION("types of results") {
    flow.values[5].type.dtype = DType::F64;
    CHECK(mentions(find_fault(flow), "n5 is f64[] number, the rule of number.add gives i64[] number"));
  }
  SECTION("operands of another kind") {
    flow.blocks[2].steps[0].node.operands[1] = Operand::of_number(1.5);
    CHECK(mentions(find_fault(flow), "number.mul does not take"));
  }
  SECTION("exits") {
    flow.blocks[2].steps[0].exit = 7;
    CHECK(find_fault(flow) == "there is no exit 7");
  }
  SECTION("conditions") {
    flow.blocks[1].end.condition = of(1);
    CHECK(find_fault(flow) == "a branch goes by no bool");
  }
  SECTION("symbols without a value") {
    flow.blocks[2].steps[2].node.operands[1] = of_size("s5");
    CHECK(find_fault(flow) == "the symbol s5 has no value among the hints");
  }
  SECTION("blocks") {
    flow.blocks[2].end.then.block = 9;
    CHECK(find_fault(flow) == "nothing may jump to block 9");
  }
}

}  // namespace kiln::flow_test
