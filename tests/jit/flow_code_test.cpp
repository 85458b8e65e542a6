// Machine code of flow graphs against their evaluation step by step, to the bit.
#include <catch2/catch.hpp>

#include <bit>
#include <limits>
#include <random>

#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/ops/pointwise.h"
#include "tests/jit/flow_graphs.h"

using namespace kiln;
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

TEST_CASE("elementwise ops on single elements give the kernels' bits", "[jit][flow][code]") {
  for (int type = 0; type < kDTypeCount; ++type) {
    const auto dtype = static_cast<DType>(type);
    FlowBuilder b("elements");
    const ValueId inputs[] = {b.input(dtype, {}), b.input(dtype, {}), b.input(dtype, {})};
    const ValueId mask = b.input(DType::Bool, {});
    b.begin_block();
    std::vector<Operand> results;
    const ExitId fails = b.exit("an element is refused");
    for (const Op* const op : OpTable::get().ops()) {
      if (op->pointwise == nullptr || !op->pointwise->failure.empty()) continue;
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
