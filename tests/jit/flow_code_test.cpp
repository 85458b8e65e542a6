// Machine code of flow graphs against their evaluation step by step, to the bit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/ops/pointwise.h"
#include "tensor/view.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_code_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::unique_ptr<RunnableFlow> compiled(const FlowBuilder& builder) {
  REQUIRE(find_fault(builder.flow) == "");
  CompiledFlow made = compile_flow(builder.made());
  INFO(to_string(builder.flow));
  REQUIRE(made.reason == "");
  return std::move(made.run);
}

bool same_value(const FlowValue& a, const FlowValue& b) {
  if (a.tensor || b.tensor) return a.tensor && b.tensor && kiln::testing::same_bits(a.tensor, b.tensor);
  if (a.number.index() != b.number.index()) return false;
  const auto* real = std::get_if<double>(&a.number);
  if (real == nullptr) return a.number == b.number;
  return std::bit_cast<std::int64_t>(*real) == std::bit_cast<std::int64_t>(std::get<double>(b.number));
}

std::vector<FlowValue> copies(const std::vector<FlowValue>& inputs) {
  std::vector<FlowValue> made = inputs;
  for (FlowValue& each : made)
    if (each.tensor) each.tensor = ops::clone(each.tensor);
  return made;
}

// Both ways end alike, and leave the same in the inputs. Gives the exit.
ExitId check_alike(RunnableFlow& code, const FlowBuilder& builder, const std::vector<FlowValue>& inputs) {
  const std::vector<FlowValue> mine = copies(inputs), theirs = copies(inputs);
  const FlowResult made = code.run(mine);
  const FlowResult wanted = evaluated(builder.made())->run(theirs);
  INFO(to_string(builder.flow));
  CHECK(made.exit == wanted.exit);
  CHECK(made.iterations == wanted.iterations);
  REQUIRE(made.values.size() == wanted.values.size());
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    INFO("value " << i);
    CHECK(same_value(made.values[i], wanted.values[i]));
  }
  for (std::size_t i = 0; i < mine.size(); ++i) CHECK(same_value(mine[i], theirs[i]));
  return made.exit;
}

// ---- Random programs of numbers ----

class RandomNumbers {
 public:
  explicit RandomNumbers(unsigned seed) : random_(seed), builder_("random") {}

  // A loop that carries two ints and two floats through `steps` random steps and a branch.
  FlowBuilder run(int steps) {
    for (int k = 0; k < 2; ++k) ints_.push_back(builder_.input_int(3));
    for (int k = 0; k < 2; ++k) floats_.push_back(builder_.input_float());
    const ValueId count = builder_.input_int(7);
    builder_.begin_block();
    builder_.jump(1, {of(ints_[0]), of(ints_[1]), of(floats_[0]), of(floats_[1]), of_int(0)});
    builder_.begin_block();
    carry();
    const ValueId turn = builder_.parameter_int(1);
    const std::vector<Operand> state = {of(ints_[0]), of(ints_[1]), of(floats_[0]), of(floats_[1]), of(turn)};
    exit_ = builder_.exit("a step fails", state);
    builder_.begins_loop(builder_.exit("it was interrupted", state));
    builder_.branch(of(builder_.number(NumberOp::Less, {of(turn), of(count)})), {2, {}}, {5, {}});
    builder_.begin_block();
    for (int k = 0; k < steps; ++k) step();
    builder_.branch(of(bools_.back()), {3, {}},
                    {4, {some(ints_), some(ints_), some(floats_), some(floats_)}});
    builder_.begin_block();
    const std::size_t known[] = {ints_.size(), floats_.size(), bools_.size()};
    for (int k = 0; k < steps / 4; ++k) step();
    builder_.jump(4, {some(ints_), some(ints_), some(floats_), some(floats_)});
    ints_.resize(known[0]), floats_.resize(known[1]), bools_.resize(known[2]);
    builder_.begin_block();
    carry();
    const ValueId next = builder_.number(NumberOp::Add, {of(turn), of_int(1)}, exit_);
    builder_.jump(1, {some(ints_), of(ints_.back()), some(floats_), of(floats_.back()), of(next)});
    builder_.begin_block();
    builder_.leave(builder_.exit("the loop is done", state));
    return builder_;
  }

 private:
  int below(std::size_t count) { return static_cast<int>(random_() % count); }
  void carry() {
    for (int k = 0; k < 2; ++k) ints_.push_back(builder_.parameter_int(1));
    for (int k = 0; k < 2; ++k) floats_.push_back(builder_.parameter({DType::F64, Device{}, {}, true, {}}));
  }
  // Values of blocks that come before on every way.
  Operand some(const std::vector<ValueId>& of_kind) {
    return of(of_kind[of_kind.size() - 1 -
                      static_cast<std::size_t>(below(std::min<std::size_t>(of_kind.size(), 4)))]);
  }
  Operand some_int() { return below(4) == 0 ? of_int(below(9) - 4) : some(ints_); }
  Operand some_float() {
    return below(4) == 0 ? Operand::of_number(static_cast<double>(below(9) - 4) / 2) : some(floats_);
  }
  void step() {
    using enum NumberOp;
    static const std::vector<NumberOp> kInts = {Add,     Sub,     Mul,   FloorDiv,   Mod,
                                                And,     Or,      Xor,   ShiftLeft,  ShiftRight,
                                                Minimum, Maximum, Index, SliceBound, Pow};
    static const std::vector<NumberOp> kFloats = {Add, Sub, Mul, Div, Mod, FloorDiv, Minimum, Maximum, Pow};
    static const std::vector<NumberOp> kCompared = {Equal, NotEqual, Less, LessEqual};
    const auto pick = [&](const std::vector<NumberOp>& all) {
      return all[static_cast<std::size_t>(below(all.size()))];
    };
    switch (below(8)) {
      case 0:
      case 1: {
        const NumberOp op = pick(kInts);
        const bool small = op == ShiftLeft || op == ShiftRight || op == Pow;
        const Operand right = small || op == Index ? of_int(below(4) + 5 * (op == Index)) : some_int();
        ints_.push_back(builder_.number(op, {some_int(), right}, exit_));
        return;
      }
      case 2:
      case 3:
        floats_.push_back(builder_.number(pick(kFloats), {some_float(), some_float()}, exit_));
        return;
      case 4:
        bools_.push_back(builder_.number(pick(kCompared), {some_int(), some_int()}));
        return;
      case 5:
        bools_.push_back(builder_.number(pick(kCompared), {some_float(), some_float()}));
        return;
      case 6:
        if (bools_.empty()) return step();
        ints_.push_back(builder_.number(Select, {some(bools_), some_int(), some_int()}));
        floats_.push_back(builder_.number(ToFloat, {some_int()}));
        return;
      default:
        ints_.push_back(builder_.number(below(2) == 0 ? Invert : Absolute, {some_int()}, exit_));
        floats_.push_back(builder_.number(below(2) == 0 ? Negate : Absolute, {some_float()}));
        bools_.push_back(builder_.number(ToBool, {some_int()}));
    }
  }

  std::minstd_rand random_;
  FlowBuilder builder_;
  std::vector<ValueId> ints_, floats_, bools_;
  ExitId exit_ = 0;
};

}  // namespace

TEST_CASE("a compiled loop of numbers ends as it does step by step", "[jit][flow][code]") {
  const FlowBuilder b = sum_of_squares();
  const auto code = compiled(b);
  CHECK(check_alike(*code, b, {int_value(5)}) == 0);
  CHECK(check_alike(*code, b, {int_value(0)}) == 0);
  FlowBuilder overflows = sum_of_squares();
  overflows.flow.blocks[0].end.then.arguments = {of_int(kMost - 1), of_int(2)};
  CHECK(check_alike(*compiled(overflows), overflows, {int_value(5)}) == 1);
}

TEST_CASE("random programs of numbers give the same bits compiled", "[jit][flow][code]") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const FlowBuilder b = RandomNumbers(seed).run(24);
    const auto code = compiled(b);
    for (const std::int64_t start : {std::int64_t{2}, std::int64_t{-7}, kMost / 3}) {
      INFO("seed " << seed << " start " << start);
      check_alike(*code, b,
                  {int_value(start), int_value(5), float_value(0.75), float_value(-2.5), int_value(6)});
    }
  }
}

TEST_CASE("compiled code is interrupted where a loop begins", "[jit][flow][code]") {
  const auto code = compiled(sum_of_squares());
  interrupt_requested = true;
  let_interrupt_pass(3);
  const std::vector<FlowValue> inputs = {int_value(5)};
  const FlowResult result = code->run(inputs);
  let_interrupt_pass(0);
  interrupt_requested = false;
  CHECK(result.exit == 2);
  CHECK(std::get<std::int64_t>(result.values[1].number) == 3);
}

TEST_CASE("compiled code writes elements through views", "[jit][flow][code]") {
  const FlowBuilder b = running_sum();
  const auto code = compiled(b);
  const Tensor x = kiln::testing::noise({6}, DType::F32, 1), y = kiln::testing::noise({6}, DType::F32, 2);
  CHECK(check_alike(*code, b, {tensor_value(x), tensor_value(y), int_value(1)}) == 0);
  CHECK(check_alike(*code, b, {tensor_value(x), tensor_value(y), int_value(-4)}) == 0);
  CHECK(check_alike(*code, b, {tensor_value(x), tensor_value(y), int_value(-9)}) == 1);
  const auto version = x.storage()->version();
  const std::vector<FlowValue> inputs = {tensor_value(x), tensor_value(y), int_value(1)};
  code->run(inputs);
  CHECK(x.storage()->version() > version);
}

namespace {

bool needs_attributes(const Op& op) {
  return std::any_of(op.signature.parameters.begin(), op.signature.parameters.end(),
                     [](const Parameter& each) {
                       return each.kind != ArgKind::Tensor && !each.has_default && !each.optional;
                     });
}

}  // namespace

TEST_CASE("elementwise ops on single elements give the kernels' bits", "[jit][flow][code]") {
  for (int type = 0; type < kRealDTypeCount; ++type) {
    const auto dtype = static_cast<DType>(type);
    FlowBuilder b("elements");
    const ValueId inputs[] = {b.input(dtype, {}), b.input(dtype, {}), b.input(dtype, {})};
    const ValueId mask = b.input(DType::Bool, {});
    b.begin_block();
    std::vector<Operand> results;
    const ExitId fails = b.exit("an element is refused");
    for (const Op* const op : OpTable::get().ops()) {
      if (op->pointwise == nullptr || !op->pointwise->failure.empty() || needs_attributes(*op)) continue;
      std::vector<Operand> operands;
      for (int k = 0; k < op->pointwise->operands; ++k)
        operands.push_back(of(k == op->pointwise->mask ? mask : inputs[k]));
      try {
        results.push_back(of(b.step(op->name(), operands, {}, fails)));
      } catch (const OpError&) {  // not of this dtype
      }
    }
    b.leave(b.exit("done", results));
    INFO(name(dtype));
    REQUIRE(results.size() > 10);
    const auto code = compiled(b);
    for (int seed = 1; seed <= 3; ++seed) {
      std::vector<FlowValue> values;
      for (int k = 0; k < 3; ++k)
        values.push_back(tensor_value(kiln::testing::noise({}, dtype, 10 * seed + k)));
      values.push_back(tensor_value(kiln::testing::noise({}, DType::Bool, seed)));
      check_alike(*code, b, values);
    }
  }
}

namespace {

// `for i in range(n) { <body> }` with a tensor and an int carried; `body` gives the next tensor. Exit 0 is
// the end, 1 a failure, 2 an interruption, each with what `left` gives of the carried tensors and i.
struct Loop {
  explicit Loop(std::vector<Type> carried) : builder("loop"), types(std::move(carried)) {}

  template <class Body>
  FlowBuilder run(const std::vector<Operand>& start, ValueId count, const Body& body) {
    builder.begin_block();
    std::vector<Operand> first = start;
    first.push_back(of_int(0));
    builder.jump(1, first);
    builder.begin_block();
    std::vector<ValueId> state;
    for (const Type& each : types) state.push_back(builder.parameter(each));
    const ValueId i = builder.parameter_int(1);
    std::vector<Operand> left;
    for (const ValueId each : state) left.push_back(of(each));
    left.push_back(of(i));
    const ExitId done = builder.exit("the loop is done", left);
    const ExitId fails = builder.exit("a step fails", left);
    builder.begins_loop(builder.exit("it was interrupted", left));
    builder.branch(of(builder.number(NumberOp::Less, {of(i), of(count)})), {2, {}}, {3, {}});
    builder.begin_block();
    std::vector<Operand> next = body(state, i, fails);
    next.push_back(of(builder.number(NumberOp::Add, {of(i), of_int(1)}, fails)));
    builder.jump(1, next);
    builder.begin_block();
    builder.leave(done);
    return builder;
  }

  FlowBuilder builder;
  std::vector<Type> types;
};

Type tensor_type(DType dtype, Dims sizes) { return {dtype, Device{}, std::move(sizes), false, {}}; }

Tensor value(std::initializer_list<std::int64_t> sizes, DType dtype, int seed) {
  Dims dims;
  for (const std::int64_t each : sizes) dims.push_back(each);
  return kiln::testing::noise(dims, dtype, seed);
}

}  // namespace

TEST_CASE("elements that are carried stay the tensors that they are", "[jit][flow][code]") {
  for (const DType dtype : {DType::F32, DType::F16, DType::I8}) {
    Loop loop({tensor_type(dtype, {})});
    FlowBuilder& b = loop.builder;
    const ValueId start = b.input(dtype, {}), x = b.input(dtype, {Dim::symbol("s0")}), n = b.input_int(3);
    const FlowBuilder made = loop.run({of(start)}, n, [&](const auto& state, ValueId i, ExitId fails) {
      const ValueId place = b.number(NumberOp::Index, {of(i), of_size("s0")}, fails, 1);
      const ValueId element = b.step("select", {of(x)}, {{"dim", Dim(0)}, {"index", dim_of(place)}});
      return std::vector<Operand>{of(b.step("add", {of(state[0]), of(element)}, {}, fails))};
    });
    const auto code = compiled(made);
    const std::vector<FlowValue> inputs = {tensor_value(value({}, dtype, 1)),
                                           tensor_value(value({5}, dtype, 2)), int_value(5)};
    CHECK(check_alike(*code, made, inputs) == 0);
    std::vector<FlowValue> none = inputs;
    none[2] = int_value(0);
    CHECK(code->run(none).values[0].tensor.is_same(inputs[0].tensor));
    none[2] = int_value(9);
    CHECK(check_alike(*code, made, none) == 1);
  }
}

TEST_CASE("results that live on keep their memory", "[jit][flow][code]") {
  for (const bool has_dims : {false, true}) {
    const Dims sizes = has_dims ? Dims{Dim::symbol("s0")} : Dims{};
    Loop loop({tensor_type(DType::F64, sizes), tensor_type(DType::F64, sizes)});
    FlowBuilder& b = loop.builder;
    const ValueId start = b.input(DType::F64, sizes), n = b.input_int(3);
    // `before = now; now = now * 1.5`
    const FlowBuilder made =
        loop.run({of(start), of(start)}, n, [&](const auto& state, ValueId, ExitId fails) {
          const Operand factor = Operand::of_number(1.5);
          return std::vector<Operand>{of(state[1]), of(b.step("mul", {of(state[1]), factor}, {}, fails))};
        });
    const auto code = compiled(made);
    const Tensor x = has_dims ? value({7}, DType::F64, 3) : value({}, DType::F64, 3);
    for (const std::int64_t count : {0, 1, 2, 3, 8}) {
      const std::vector<FlowValue> inputs = {tensor_value(x), int_value(count)};
      CHECK(check_alike(*code, made, inputs) == 0);
      const FlowResult result = code->run(inputs);
      CHECK(shares_storage(result.values[0].tensor, result.values[1].tensor) == (count == 0));
    }
  }
}

TEST_CASE("values that are one tensor in the flow are one tensor behind it", "[jit][flow][code]") {
  for (const bool has_dims : {false, true}) {
    const Dims sizes = has_dims ? Dims{Dim::symbol("s0")} : Dims{};
    Loop loop({tensor_type(DType::F64, sizes), tensor_type(DType::F64, sizes)});
    FlowBuilder& b = loop.builder;
    const ValueId start = b.input(DType::F64, sizes), n = b.input_int(3);
    const FlowBuilder made =
        loop.run({of(start), of(start)}, n, [&](const auto& state, ValueId, ExitId fails) {
          const ValueId next = b.step("exp", {of(state[0])}, {}, fails);
          return std::vector<Operand>{of(next), of(next)};
        });
    const Tensor x = has_dims ? value({7}, DType::F64, 3) : value({}, DType::F64, 3);
    const std::vector<FlowValue> inputs = {tensor_value(x), int_value(2)};
    const auto code = compiled(made);
    CHECK(check_alike(*code, made, inputs) == 0);
    const FlowResult result = code->run(inputs);
    CHECK(shares_storage(result.values[0].tensor, result.values[1].tensor));
  }
}

TEST_CASE("views of inputs are views of them behind the flow", "[jit][flow][code]") {
  FlowBuilder b("views");
  const ValueId x = b.input(DType::F32, {Dim::symbol("s0"), 3});
  b.begin_block();
  const ValueId row = b.step("select", {of(x)}, {{"dim", Dim(0)}, {"index", Dim(1)}});
  const ValueId turned = b.step("transpose", {of(x)}, {{"dim0", Dim(0)}, {"dim1", Dim(1)}});
  b.write("neg", {of(row)});
  const ValueId sum = b.step("add", {of(turned), of(turned)});
  b.leave(b.exit("done", {of(row), of(turned), of(x), of(sum)}));
  const auto code = compiled(b);
  const std::vector<FlowValue> inputs = {tensor_value(value({4, 3}, DType::F32, 1))};
  CHECK(check_alike(*code, b, inputs) == 0);
  const FlowResult result = code->run(inputs);
  CHECK(shares_storage(result.values[0].tensor, inputs[0].tensor));
  CHECK(is_view(result.values[0].tensor));
  CHECK(base_of(*result.values[0].tensor.impl()->origin).is_same(inputs[0].tensor));
  CHECK_FALSE(is_view(result.values[3].tensor));
  CHECK(result.values[1].tensor.strides() == Dims{1, 3});
  CHECK(result.values[2].tensor.is_same(inputs[0].tensor));
}

TEST_CASE("calls of kernels follow numbers, and leave where they fail", "[jit][flow][code]") {
  Loop loop({tensor_type(DType::F32, {})});
  FlowBuilder& b = loop.builder;
  const ValueId start = b.input(DType::F32, {}), n = b.input_int(3);
  // `total = total + full([2], i).cumsum(0)[1]`, then a division of whole numbers by n - 2 - i.
  const FlowBuilder made = loop.run({of(start)}, n, [&](const auto& state, ValueId i, ExitId fails) {
    const ValueId filled = b.step("full", {of(i)}, {{"size", Dims{2}}, {"dtype", DType::F32}}, fails);
    const ValueId sums = b.step("cumsum", {of(filled)}, {{"dim", Dim(0)}}, fails);
    const ValueId last = b.step("select", {of(sums)}, {{"dim", Dim(0)}, {"index", Dim(1)}});
    return std::vector<Operand>{of(b.step("add", {of(state[0]), of(last)}, {}, fails))};
  });
  const auto code = compiled(made);
  CHECK(check_alike(*code, made, {tensor_value(value({}, DType::F32, 4)), int_value(5)}) == 0);
}

TEST_CASE("an element that an op refuses is an exit", "[jit][flow][code]") {
  FlowBuilder b("refused");
  const ValueId a = b.input(DType::I32, {}), x = b.input(DType::I32, {});
  b.begin_block();
  const ExitId fails = b.exit("a division by zero", {of(a)});
  const ValueId made = b.step("floor_div", {of(a), of(x)}, {}, fails);
  b.leave(b.exit("done", {of(made)}));
  const auto code = compiled(b);
  const Tensor zero = ops::zeros({}, DType::I32);
  CHECK(check_alike(*code, b, {tensor_value(value({}, DType::I32, 1)), tensor_value(zero)}) == 0);
}

TEST_CASE("an element that is read may be in memory that is written", "[jit][flow][code]") {
  Loop loop({tensor_type(DType::F32, {})});
  FlowBuilder& b = loop.builder;
  const ValueId factor = b.input(DType::F32, {}), x = b.input(DType::F32, {Dim::symbol("s0")}),
                n = b.input_int(3);
  const FlowBuilder made = loop.run({of(factor)}, n, [&](const auto& state, ValueId i, ExitId fails) {
    const ValueId place = b.number(NumberOp::Index, {of(i), of_size("s0")}, fails, 1);
    const ValueId element = b.step("select", {of(x)}, {{"dim", Dim(0)}, {"index", dim_of(place)}});
    b.write("mul", {of(element), of(factor)}, fails);
    return std::vector<Operand>{of(b.step("add", {of(state[0]), of(factor)}, {}, fails))};
  });
  const auto code = compiled(made);
  const auto results = [&](RunnableFlow& flow) {
    const Tensor memory = value({5}, DType::F32, 6);
    const Tensor first = Tensor::alias(memory, Layout{{}, {}, 0});
    const std::vector<FlowValue> inputs = {tensor_value(first), tensor_value(memory), int_value(5)};
    return std::vector<FlowValue>{flow.run(inputs).values[0], inputs[1]};
  };
  const std::vector<FlowValue> mine = results(*code), theirs = results(*evaluated(made.made()));
  CHECK(same_value(mine[0], theirs[0]));
  CHECK(same_value(mine[1], theirs[1]));
}

TEST_CASE("slices of any length follow numbers", "[jit][flow][code]") {
  Loop loop({tensor_type(DType::F32, {})});
  FlowBuilder& b = loop.builder;
  const ValueId start = b.input(DType::F32, {}), x = b.input(DType::F32, {Dim::symbol("s0")}),
                n = b.input_int(3);
  const FlowBuilder made = loop.run({of(start)}, n, [&](const auto& state, ValueId i, ExitId fails) {
    const ValueId bound = b.number(NumberOp::SliceBound, {of(i), of_size("s0")}, kCannotFail, 3);
    const ValueId part = b.step(
        "slice", {of(x)}, {{"dim", Dim(0)}, {"start", Dim(0)}, {"end", dim_of(bound)}, {"step", Dim(1)}});
    const ValueId sum = b.step("sum", {of(part)}, {}, fails);
    return std::vector<Operand>{of(b.step("add", {of(state[0]), of(sum)}, {}, fails))};
  });
  const std::vector<FlowValue> inputs = {tensor_value(value({}, DType::F32, 1)),
                                         tensor_value(value({5}, DType::F32, 2)), int_value(7)};
  CHECK(check_alike(*compiled(made), made, inputs) == 0);
}

}  // namespace kiln::flow_code_test
