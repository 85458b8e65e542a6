// The derivative of flow graphs, against the tape on the same loop run op by op.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "jit/flow/flow_gradient_run.h"
#include "jit/flow/flow_stack.h"
#include "tensor/autograd.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_gradient_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;
using kiln::testing::noise;

namespace {

struct Case {
  FlowGraph flow;
  std::vector<bool> wanted;
  std::vector<FlowValue> inputs;
  // The loop op by op, on copies of the inputs: the results of exit 0 that carry derivatives, then the
  // tensors that are written.
  std::function<Tensors(const std::vector<FlowValue>&)> eager;
};

std::vector<FlowValue> copies(const std::vector<FlowValue>& values) {
  std::vector<FlowValue> made = values;
  for (FlowValue& each : made) {
    if (each.tensor) each.tensor = ops::clone(each.tensor);
  }
  return made;
}

std::vector<Tensor> by_tape(const Case& each, const Tensors& seeds) {
  std::vector<FlowValue> inputs = copies(each.inputs);
  Tensors leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!each.wanted[i]) continue;
    set_requires_grad(inputs[i].tensor, true);
    leaves.push_back(inputs[i].tensor);
    inputs[i].tensor = ops::clone(inputs[i].tensor);  // may be written
  }
  const Tensors results = each.eager(inputs);
  REQUIRE(results.size() == seeds.size());
  return grads({results.begin(), results.end()}, {leaves.begin(), leaves.end()},
               {seeds.begin(), seeds.end()});
}

void check_backward(const Case& each, DifferentiatedFlow& pair, const FlowKept& kept,
                    const Tensors& cotangents) {
  const std::vector<Tensor> expected = by_tape(each, cotangents);
  for (int time = 0; time < 2; ++time) {
    const std::optional<Tensors> made = pair.backward(kept, cotangents, {});
    REQUIRE(made);
    std::size_t next = 0;
    for (std::size_t i = 0; i < each.wanted.size(); ++i) {
      if (!each.wanted[i]) continue;
      const Tensor& wanted = expected[next++];
      INFO(kiln::testing::describe((*made)[i]) << " for " << kiln::testing::describe(wanted));
      CHECK(kiln::testing::same_bits((*made)[i], wanted));
    }
  }
}

void check(const Case& each, bool as_code) {
  const auto flow = std::make_shared<const FlowGraph>(each.flow);
  const auto pair = differentiate_flow(flow, each.wanted, as_code);
  const std::vector<FlowOutput>& outputs = pair->derivative().outputs(0);
  const auto back = pair->derivative().backward(0, std::vector<bool>(outputs.size(), true));
  REQUIRE(back);
  INFO(to_string(pair->derivative().forward()) << to_string(back->graph));
  REQUIRE(find_fault(pair->derivative().forward()) == "");
  REQUIRE(find_fault(back->graph) == "");

  const std::vector<FlowValue> inputs = copies(each.inputs);
  const FlowForward done = pair->forward(inputs);
  REQUIRE(done.result.exit == 0);
  REQUIRE(done.kept);
  // Also zeros of both signs, which are added in the order of the tape, too.
  for (const double scale : {1.0, 0.0, -0.0}) {
    Tensors cotangents;
    for (const FlowOutput& output : outputs) {
      const Tensor last = output.value ? done.result.values[*output.value].tensor
                                       : inputs[static_cast<std::size_t>(output.written)].tensor;
      Dims sizes(last.sizes().begin(), last.sizes().end());
      const int seed = 40 + static_cast<int>(cotangents.size());
      cotangents.push_back(noise(sizes, last.dtype(), seed) * scale);
    }
    check_backward(each, *pair, *done.kept, cotangents);
  }
}
void check(const Case& each) {
  REQUIRE(find_fault(each.flow) == "");
  check(each, false);
  check(each, true);
}

Tensor at(const Tensor& x, std::int64_t i) { return ops::select(x, 0, i); }

// for i in range(s0) { h = tanh(w @ h + xs[i]) }
FlowGraph recurrence_of_vectors() {
  FlowBuilder b("recurrence:1");
  const ValueId w = b.input(DType::F64, {3, 3}), xs = b.input(DType::F64, {Dim::symbol("s0"), 3});
  const ValueId start = b.input(DType::F64, {3});
  b.begin_block();
  b.jump(1, {of(start), of_int(0)});
  b.begin_block();
  const ValueId h = b.parameter({DType::F64, Device{}, {3}, false, std::nullopt});
  const ValueId i = b.parameter_int(0);
  b.begins_loop(1);
  b.exit("the loop is done", {of(h)});
  b.exit("it was interrupted", {of(h), of(i)});
  b.branch(of(b.number(NumberOp::Less, {of(i), of_size("s0")})), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId product = b.step("matmul", {of(w), of(h)});
  const ValueId row = b.step("select", {of(xs)}, {{"dim", Dim(0)}, {"index", dim_of(i)}}, 1);
  const ValueId next = b.step("tanh", {of(b.step("add", {of(product), of(row)}))});
  b.jump(1, {of(next), of(b.number(NumberOp::Add, {of(i), of_int(1)}))});
  b.begin_block();
  b.leave(0);
  return b.flow;
}

}  // namespace

TEST_CASE("what is written element by element is differentiated", "[jit][flow]") {
  Case sum{running_sum().flow, {true, true, false}, {}, {}};
  sum.inputs = {tensor_value(noise({6}, DType::F32, 1)), tensor_value(noise({6}, DType::F32, 2)),
                int_value(1)};
  sum.eager = [](const std::vector<FlowValue>& given) {
    const Tensor x = given[0].tensor, y = given[1].tensor;
    for (std::int64_t i = 1; i < 6; ++i) ops::copy_(at(x, i), ops::add(at(x, i - 1), at(y, i)));
    return Tensors{x};
  };
  check(sum);
}

TEST_CASE("tensors that are carried from one iteration to the next are differentiated", "[jit][flow]") {
  Case recurrence{recurrence_of_vectors(), {true, true, true}, {}, {}};
  recurrence.inputs = {tensor_value(noise({3, 3}, DType::F64, 3)), tensor_value(noise({4, 3}, DType::F64, 4)),
                       tensor_value(noise({3}, DType::F64, 5))};
  recurrence.eager = [](const std::vector<FlowValue>& given) {
    Tensor state = given[2].tensor;
    for (std::int64_t k = 0; k < 4; ++k)
      state = ops::tanh(ops::add(ops::matmul(given[0].tensor, state), at(given[1].tensor, k)));
    return Tensors{state};
  };
  check(recurrence);
}

TEST_CASE("a run keeps in no more memory than it needs what the last one had to find out", "[jit][flow]") {
  const auto flow = std::make_shared<const FlowGraph>(recurrence_of_vectors());
  const auto pair = differentiate_flow(flow, {true, true, true}, true);
  const auto forward = [&](std::int64_t rows) {
    const std::vector<FlowValue> inputs{tensor_value(noise({3, 3}, DType::F64, 3)),
                                        tensor_value(noise({Dim(rows), 3}, DType::F64, 4)),
                                        tensor_value(noise({3}, DType::F64, 5))};
    return pair->forward(inputs).kept;
  };
  const auto first = forward(1000), again = forward(1000), shorter = forward(500), shortest = forward(300);
  CHECK(first->stack->memory->bytes() > first->bytes());
  CHECK(again->bytes() == first->bytes());
  CHECK(again->stack->memory->bytes() == again->bytes());
  CHECK(shorter->stack->memory->bytes() <= 2 * shorter->bytes());
  CHECK(shortest->stack->memory->bytes() <= 2 * shortest->bytes());
}

TEST_CASE("a loop whose end depends on elements is differentiated", "[jit][flow]") {
  // while abs(x * x - a) > 1e-6 { x = (x + a / x) / 2 }
  FlowBuilder b("newton:1");
  const ValueId a = b.input(DType::F64, {}), start = b.input(DType::F64, {});
  b.begin_block();
  b.jump(1, {of(start)});
  b.begin_block();
  const ValueId x = b.parameter({DType::F64, Device{}, {}, false, std::nullopt});
  b.begins_loop(1);
  b.exit("the loop is done", {of(x)});
  b.exit("it was interrupted", {of(x)});
  const ValueId error = b.step("abs", {of(b.step("sub", {of(b.step("mul", {of(x), of(x)})), of(a)}))});
  const ValueId small =
      b.number(NumberOp::LessEqual, {of(b.number(NumberOp::Item, {of(error)}, 1)), Operand::of_number(1e-6)});
  b.branch(of(small), {2, {}}, {3, {}});
  b.begin_block();
  b.leave(0);
  b.begin_block();
  const ValueId sum = b.step("add", {of(x), of(b.step("div", {of(a), of(x)}))});
  b.jump(1, {of(b.step("div", {of(sum), Operand::of_number(2.0)}))});

  Case newton{b.flow, {true, true}, {}, {}};
  newton.inputs = {tensor_value(noise({}, DType::F64, 6, 2, 3)),
                   tensor_value(noise({}, DType::F64, 7, 1, 2))};
  newton.eager = [](const std::vector<FlowValue>& given) {
    const Tensor square = given[0].tensor;
    Tensor root = given[1].tensor;
    while (ops::abs(ops::sub(ops::mul(root, root), square)).item_float() > 1e-6)
      root = ops::div(ops::add(root, ops::div(square, root)), Tensor::number(2.0));
    return Tensors{root};
  };
  check(newton);
  // No gradient comes to what the condition is computed from.
  const auto derivative = differentiate(newton.flow, newton.wanted);
  const auto pushes_tensor = [&](const FlowStep& each) {
    return each.node.op == &push_op() && each.node.operands[0].is_value() &&
           !derivative->forward().type(each.node.operands[0].value).is_number;
  };
  const auto keeps = [&](const FlowBlock& block) {
    return std::any_of(block.steps.begin(), block.steps.end(), pushes_tensor);
  };
  CHECK_FALSE(keeps(derivative->forward().blocks[1]));
  CHECK(keeps(derivative->forward().blocks[3]));
}

TEST_CASE("elements that later iterations overwrite are kept for the derivative", "[jit][flow]") {
  // for i in range(1, n) { x[i] *= x[i - 1]; x[i - 1] = exp(x[i]) }
  FlowBuilder b("overwritten:1");
  const ValueId x = b.input(DType::F32, {Dim::symbol("s0")});
  b.begin_block();
  b.jump(1, {of_int(1)});
  b.begin_block();
  const ValueId i = b.parameter_int(1);
  b.begins_loop(1);
  b.exit("the loop is done");
  b.exit("it was interrupted", {of(i)});
  b.branch(of(b.number(NumberOp::Less, {of(i), of_size("s0")})), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId before = b.number(NumberOp::Sub, {of(i), of_int(1)}, 1, 0);
  const auto element = [&](ValueId place) {
    return b.step("select", {of(x)}, {{"dim", Dim(0)}, {"index", dim_of(place)}}, 1);
  };
  const ValueId here = element(i), left = element(before);
  b.write("mul", {of(here), of(left)});
  b.write("copy", {of(left), of(b.step("exp", {of(here)}))});
  b.jump(1, {of(b.number(NumberOp::Add, {of(i), of_int(1)}))});
  b.begin_block();
  b.leave(0);

  Case overwritten{b.flow, {true}, {tensor_value(noise({5}, DType::F32, 8, -1, 1))}, {}};
  overwritten.eager = [](const std::vector<FlowValue>& given) {
    const Tensor all = given[0].tensor;
    for (std::int64_t k = 1; k < 5; ++k) {
      bind_inplace(OpTable::get().at("mul"), std::vector<Tensor>{at(all, k), at(all, k - 1)},
                   Attrs(OpTable::get().at("mul")));
      ops::copy_(at(all, k - 1), ops::exp(at(all, k)));
    }
    return Tensors{all};
  };
  check(overwritten);
}

}  // namespace kiln::flow_gradient_test
