// Finding what differs between two ways to run a graph, and the least that shows it.
#include "jit/runtime/reduce.h"

#include <catch2/catch.hpp>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/pipeline/fused.h"
#include "jit/runtime/executable.h"
#include "tensor/functions.h"
#include "tests/jit/graphs.h"

namespace kiln::reduce_test {

using namespace kiln::jit;
using kiln::testing::make;

namespace {

RunGraph fused(const Graph& graph) {
  auto executable = Executable::make(fuse(graph).graph);
  return [executable](Inputs arguments) { return executable->run(arguments); };
}
RunGraph by_kernels(const Graph& graph, const std::vector<bool>&) { return fused(graph); }

// Without gradients.
GraphCall call_of(std::string_view text, std::vector<Tensor> arguments) {
  const std::vector<bool> none(arguments.size(), false);
  return {parse_graph(text), std::move(arguments), none};
}

// The fused backend, but for a kernel that has an op in it: that one gives its last element wrong.
MakeRun broken_at(std::string op) {
  return [op](const Graph& graph, const std::vector<bool>&) -> RunGraph {
    const Graph made = fuse(graph).graph;
    bool has_op = false;
    for (const Node& node : graph.nodes) has_op = has_op || (node.op != nullptr && node.op->name() == op);
    return [run = fused(graph), has_op](Inputs arguments) {
      Tensors results = run(arguments);
      if (!has_op) return results;
      for (Tensor& each : results) {
        each = ops::clone(each);
        if (each.dtype() == DType::F32 && each.numel() > 0)
          each.writable<float>()[(each.numel() - 1).fixed()] += 1;
      }
      return results;
    };
  };
}

Tensor counting(std::int64_t count) {
  return make({count}, DType::F32, [](std::int64_t i) { return 0.25 * static_cast<double>(i); });
}

constexpr const char* kProgram =
    "graph functional f(%x: f32[4], %w: f32[4]) {\n"
    "  %a = mul(%x, %w) : f32[4]\n"
    "  %b = exp(%a) : f32[4]\n"
    "  %c = sin(%x) : f32[4]\n"
    "  %d = tanh(%b) : f32[4]\n"
    "  %e = add(%c, %d) : f32[4]\n"
    "  %f = relu(%e) : f32[4]\n"
    "  return %f, %c\n"
    "}\n";

Outcome of(std::vector<Tensor> results, std::vector<Tensor> arguments = {}) {
  return {std::move(results), std::move(arguments), "", false};
}
const OutcomeNames kNames{{"result 1", "result 2"}, {"argument %x", "argument %y"}};

}  // namespace

TEST_CASE("kernels differ in nothing from the interpreter", "[jit][reduce]") {
  const std::vector<Tensor> arguments = {counting(4), counting(4)};
  CHECK(difference_on(call_of(kProgram, arguments), by_kernels).empty());
  CHECK_FALSE(reduce(call_of(kProgram, arguments), by_kernels));
}

TEST_CASE("a broken kernel is reduced to the op that is broken", "[jit][reduce]") {
  const std::vector<Tensor> arguments = {counting(4), counting(4)};
  const auto found = reduce(call_of(kProgram, arguments), broken_at("tanh"));
  REQUIRE(found);
  CHECK(print_graph(found->call.graph) ==
        "graph functional f(%b: f32[4]) {\n"
        "  %d = tanh(%b) : f32[4]\n"
        "  return %d\n"
        "}\n");
  CHECK(found->difference ==
        "result 1 (%d)[3] is 1.7615941762924194, the interpreter has 0.7615941762924194");
  CHECK(program_of(*found, "\"fused\"") == "# " + found->difference +
                                               "\ng = parse_graph(\"\"\"graph functional f(%b: f32[4]) {\n"
                                               "  %d = tanh(%b) : f32[4]\n"
                                               "  return %d\n"
                                               "}\n\"\"\")\n"
                                               "x0 = tensor([1.0, 1.0, 1.0, 1.0], dtype=f32).reshape([4])\n"
                                               "print(check(g, x0, backend=\"fused\"))\n");
  CHECK(arguments[0].data<float>()[1] == 0.25F);  // the caller's stay as they were
}

TEST_CASE("writes to arguments are compared, and reduced as results", "[jit][reduce]") {
  const GraphCall call = call_of(
      "graph functional f(%x: f32[3]) {\n"
      "  %a = cos(%x) : f32[3]\n"
      "  %b = exp(%a) : f32[3]\n"
      "  return %a\n"
      "  write %x <- %b\n"
      "}\n",
      {counting(3)});
  const MakeRun without_write = [](const Graph& each, const std::vector<bool>&) -> RunGraph {
    Graph other = each;
    other.effects.clear();
    return [run = fused(other)](Inputs arguments) { return run(arguments); };
  };
  CHECK(difference_on(call, without_write) == "argument %x[0] is 0, the interpreter has 2.7182817459106445");
  const auto found = reduce(call, broken_at("exp"));
  REQUIRE(found);
  CHECK(found->call.graph.nodes.size() == 1);
  CHECK(found->call.graph.effects.empty());
}

TEST_CASE("a difference of gradients alone is reduced to the op that has it", "[jit][reduce]") {
  GraphCall call = call_of(kProgram, {counting(4), counting(4)});
  call.wanted = {true, false};
  // Op by op, but what `exp` gives has no history.
  const MakeRun cut_at_exp = [](const Graph& graph, const std::vector<bool>&) -> RunGraph {
    return [graph](Inputs arguments) {
      Tensors results = evaluate(graph, arguments);
      const bool has_exp = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                       [](const Node& each) { return each.op->name() == "exp"; });
      for (Tensor& each : results) {
        if (has_exp) each = ops::detach(each);
      }
      return results;
    };
  };
  const auto found = reduce(call, cut_at_exp);
  REQUIRE(found);
  CHECK(found->difference == "the gradient of argument %a[0] is 0, the interpreter has 2.7182817459106445");
  CHECK(print_graph(found->call.graph) ==
        "graph functional f(%a: f32[4]) {\n"
        "  %b = exp(%a) : f32[4]\n"
        "  return %b\n"
        "}\n");
  CHECK(found->call.wanted == std::vector<bool>{true});
  CHECK(program_of(*found, "\"fused\"").find("x0.requires_grad_()\n") != std::string::npos);
}

TEST_CASE("every kind of difference is told", "[jit][reduce]") {
  const Tensor x = counting(4), y = ops::clone(x);
  CHECK(first_difference(of({x}), of({y}), kNames).empty());
  CHECK(first_difference(of({ops::to(x, DType::F64)}), of({y}), kNames) ==
        "result 1 is f64[4], the interpreter has f32[4]");
  CHECK(first_difference(of({ops::reshape(x, Dims{2, 2})}), of({y}), kNames) ==
        "result 1 is f32[2, 2], the interpreter has f32[4]");
  CHECK(first_difference(of({x, ops::view(x, Dims{4})}), of({y, x}), kNames) ==
        "result 1 and result 2 share memory, in the interpreter they do not");
  CHECK(first_difference(of({x}, {y}), of({x}, {x}), kNames) ==
        "result 1 and argument %x share no memory, in the interpreter they do");
  CHECK(first_difference(of({}), of({y}), kNames) == "it has another number of results");
  Outcome failed;
  failed.error = "division by zero";
  CHECK(first_difference(failed, of({}), kNames) ==
        "it failed, and in the interpreter it does not: division by zero");
  CHECK(first_difference(of({}), failed, kNames) ==
        "it did not fail as in the interpreter: division by zero");
  CHECK(first_difference(failed, failed, kNames).empty());
}

TEST_CASE("a sign of zero is a difference, a nan is a nan", "[jit][reduce]") {
  const auto one = [](double value) {
    return make({1}, DType::F32, [value](std::int64_t) { return value; });
  };
  CHECK(first_difference(of({one(0.0)}), of({one(-0.0)}), kNames) ==
        "result 1[0] is 0, the interpreter has -0");
  CHECK(first_difference(of({one(std::nan(""))}), of({one(-std::nan(""))}), kNames).empty());
}

TEST_CASE("copies share memory as what they are copied from", "[jit][reduce]") {
  const Tensor x = counting(8);
  const std::vector<Tensor> given = {ops::narrow(x, 0, 2, 4), x, counting(8)};
  const std::vector<Tensor> copies = copies_of(given);
  REQUIRE(copies.size() == 3);
  CHECK(shares_storage(copies[0], copies[1]));
  CHECK_FALSE(shares_storage(copies[1], copies[2]));
  CHECK_FALSE(shares_storage(copies[1], x));
  CHECK(copies[0].data<float>()[0] == 0.5F);
  copies[1].writable<float>()[2] = 7;
  CHECK(copies[0].data<float>()[0] == 7.0F);
  CHECK(x.data<float>()[2] == 0.5F);
}

}  // namespace kiln::reduce_test
