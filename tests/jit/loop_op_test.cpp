// Loops as ops: what they are given stays as it is, and what comes out is theirs alone.
#include <catch2/catch.hpp>

#include "jit/graph/custom.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/loop_function.h"
#include "tensor/functions.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::jit::loop_op_test {
namespace {

using namespace kiln::jit::testing;
using kiln::testing::noise;

// `while i < s0 { x[i] = x[i - 1] + y[i] }`, which gives i: x is written.
std::shared_ptr<const Op> running_sum_op(const std::string& name = "loop") {
  const std::shared_ptr<const FlowGraph> flow = running_sum().made();
  FlowAsOp as = as_op(flow, {0});
  REQUIRE(as.reason == "");
  as.function->name = name;
  as.function->run = evaluated(flow);
  return make_loop_op(*as.function);
}

double element(const Tensor& x, std::int64_t i) { return ops::select(x, 0, i).item_float(); }

}  // namespace

TEST_CASE("a loop writes none of its inputs", "[jit][loop]") {
  const std::shared_ptr<const Op> op = running_sum_op();
  const Tensor x = ops::ones(Dims{4}, DType::F32), y = ops::ones(Dims{4}, DType::F32);
  const Tensor inputs[] = {x, y, Tensor::number(std::int64_t{1})};
  const Tensors results = bind(*op, inputs, Attrs(*op));
  REQUIRE(results.size() == 2);
  CHECK(element(results[0], 3) == 4);
  CHECK(results[1].item_int() == 4);
  CHECK(element(x, 3) == 1);
  CHECK_FALSE(shares_storage(results[0], x));
}

TEST_CASE("the types of a loop follow the sizes of its inputs", "[jit][loop]") {
  const std::shared_ptr<const Op> op = running_sum_op();
  const TensorType number{DType::I64, {}, {}, true};
  const auto of = [](std::int64_t size) { return TensorType{DType::F32, {}, Dims{size}, false}; };
  const std::vector<TensorType> types = op->infer(std::vector{of(7), of(7), number}, Attrs(*op));
  CHECK(types[0] == of(7));
  CHECK(types[1] == TensorType{DType::I64, {}, {}, false});
  CHECK_THROWS_AS(op->infer(std::vector{of(7), of(6), number}, Attrs(*op)), OpError);
}

TEST_CASE("examples of a batch go through a loop together", "[jit][loop]") {
  const std::shared_ptr<const Op> op = running_sum_op();
  const Tensor x = noise({3, 4}, DType::F32, 1), y = noise({4}, DType::F32, 2);
  const Tensor inputs[] = {x, y, Tensor::number(std::int64_t{1})};
  const bool batched[] = {true, false, false};
  const Tensors results = op->batch.fn({*op, Attrs(*op), inputs, batched, 3});
  const Tensor alone[] = {ops::select(x, 0, 2), y, Tensor::number(std::int64_t{1})};
  const Tensor expected = bind(*op, alone, Attrs(*op))[0];
  CHECK(results[0].sizes() == Dims{3, 4});
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(element(ops::select(results[0], 0, 2), i) == element(expected, i));
}

TEST_CASE("what a loop shares with its inputs is no result", "[jit][loop]") {
  FlowBuilder b("gives:1");
  const ValueId x = b.input(DType::F32, {Dim::symbol("s0")});
  b.begin_block();
  const ValueId view =
      b.step("slice", {of(x)}, {{"dim", Dim(0)}, {"start", Dim(1)}, {"end", Dim(3)}, {"step", Dim(1)}});
  b.leave(b.exit("the loop is done", {of(x), of(view)}));
  CHECK(as_op(b.made(), {0}).reason == "a value is a view of a value");
  b.flow.exits[0].values = {of(x)};
  CHECK(as_op(b.made(), {0}).reason == "nothing comes out of it");
}

TEST_CASE("a graph shows the flow of its loop, and keeps the op alive", "[jit][loop]") {
  Builder builder;
  builder.graph.name = "f";
  std::shared_ptr<const Op> op = running_sum_op();
  Node node;
  node.op = builder.graph.own_ops.emplace_back(op).get();
  const Type type{DType::F32, {}, Dims{4}, false, std::nullopt};
  node.operands = {Operand::of(builder.input("x", type)), Operand::of(builder.input("y", type)), of_int(1)};
  const Type number{DType::I64, {}, {}, false, std::nullopt};
  for (const ValueId id : builder.append(std::move(node), {type, number}))
    builder.graph.outputs.push_back(of(id));
  op.reset();
  const Graph made = run_recipe(recipes::kFunctional, std::move(builder.graph));
  const std::string text = print_graph(made);
  CHECK(text.starts_with("flow running_sum:3("));
  CHECK(text.find("loop(%x, %y, 1) : f32[4], i64[]") != std::string::npos);
  CHECK(loop_ops(made).size() == 1);
  CHECK(print_graph(parse_graph(text)) == text);
  CHECK(is_same_loop(*loop_ops(made)[0], *running_sum_op()));
  CHECK_FALSE(is_same_loop(*loop_ops(made)[0], *running_sum_op("other")));
}

}  // namespace kiln::jit::loop_op_test
