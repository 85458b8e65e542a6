// Functions with derivatives of their own as nodes: text, equality, levels, differentiation, what is kept.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "jit/autodiff/differentiate.h"
#include "jit/autodiff/partition.h"
#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/fused.h"
#include "jit/runtime/executable.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::jit::custom_test {
namespace {

// Its backward is not the derivative, and reads what forward keeps beside the result.
constexpr std::string_view kText = R"(graph forward Odd(%x: f32[3]) {
  %s = sigmoid(%x) : f32[3]
  %y = mul(%s, 2.0) : f32[3]
  %kept = detach(%s) : f32[3]
  return %y, %kept
  save %kept
}
graph backward Odd(saved %s: f32[3], grad %g: f32[3]) {
  %0 = mul(%g, %s) : f32[3]
  %1 = mul(%0, 100.0) : f32[3]
  return %1
}
graph functional f(%x: f32[3]) {
  %a = mul(%x, 3.0) : f32[3]
  %b, %k = Odd(%a) : f32[3], f32[3]
  %c = cos(%b) : f32[3]
  %d, %m = Odd(%c) : f32[3], f32[3]
  return %d
}
)";

Tensor leaf() {
  const Tensor x = ops::to(ops::arange(-1, 2), DType::F32);
  set_requires_grad(x, true);
  return x;
}

bool close(const Tensor& a, const Tensor& b) {
  const Tensor x = ops::contiguous(a), y = ops::contiguous(b);
  if (x.sizes() != y.sizes()) return false;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (std::abs(x.data<float>()[i] - y.data<float>()[i]) > 1e-4F) return false;
  }
  return true;
}

Tensor gradient(const Tensor& x, const Tensor& y) { return grads({ops::sum(y)}, {x})[0]; }

// As the text says, step by step.
Tensor by_hand(const Tensor& x) {
  const Tensor a = x * 3.0;
  const Tensor c = ops::cos(ops::sigmoid(a) * 2.0);
  const auto odd = [](const Tensor& given, const Tensor& at) { return given * ops::sigmoid(at) * 100.0; };
  const Tensor ones = ops::ones_like(x);
  const Tensor of_b = odd(ones, c) * ops::neg(ops::sin(ops::sigmoid(a) * 2.0));
  return odd(of_b, a) * 3.0;
}

}  // namespace

TEST_CASE("functions with derivatives of their own in text", "[custom]") {
  const Graph graph = parse_graph(kText);
  verify(graph, "parse");
  CHECK(print_graph(parse_graph(print_graph(graph))) == print_graph(graph));
  CHECK(parse_graph(kText) == graph);
  std::string other(kText);
  other.replace(other.find("100.0"), 5, "200.0");
  CHECK_FALSE(parse_graph(other) == graph);
  CHECK(custom_ops(graph).size() == 1);
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"return %1", "return %1, %1"},
                                 {"save %kept", ""},
                                 {"grad %g", "grad %h: f32[3], grad %g"}}) {
    std::string wrong(kText);
    wrong.replace(wrong.find(from), from.size(), to);
    CHECK_THROWS_WITH(parse_graph(wrong), Catch::Contains("the bodies of Odd do not fit"));
  }
}

TEST_CASE("every way to run such a graph honours its backward", "[custom]") {
  const Graph graph = parse_graph(kText);
  const Tensor x = leaf();
  const Tensor wanted = by_hand(x);
  const auto check = [&](const Tensor& y) { CHECK(close(gradient(x, y), wanted)); };
  check(evaluate(graph, {&x, 1})[0]);
  check(Executable::make(graph)->run({&x, 1})[0]);
  for (const Recipe* recipe : {&recipes::kWithoutWrites, &recipes::kFewerSteps}) {
    for (const PassResult& each : run_recipe_kept(*recipe, graph, {}, true))
      check(evaluate(each.graph, {&x, 1})[0]);
  }
  const Tensor plain = ops::detach(x);
  CHECK(close(evaluate(fuse(graph).graph, {&plain, 1})[0], evaluate(graph, {&plain, 1})[0]));
}

TEST_CASE("differentiate takes the backward body, and partition runs no function twice", "[custom]") {
  const Joint joint = differentiate(parse_graph(kText), {true});
  verify(joint.graph, "differentiate");
  const Tensor x = ops::detach(leaf());
  const Tensor one = ops::ones_like(x);
  const Tensor given[] = {x, one};
  CHECK(close(evaluate(joint.graph, given)[1], by_hand(x)));
  for (const double budget : {1.0, 0.0}) {
    const Partition parts = partition(joint, {Strategy::MinimumCut, budget});
    const auto applies = [](const Graph& graph) {
      return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
        return !node.is_constant() && custom_function(*node.op) != nullptr;
      });
    };
    CHECK(applies(parts.forward) == 2);
    CHECK(applies(parts.backward) == 0);
  }
}

// Backward reads a size that neither what is saved nor the gradient shows.
constexpr std::string_view kSymbolic = R"(graph forward Total(%x: f32[2*rows, 3]) where rows = 4 {
  %y = sum(%x, keepdim=false) : f32[]
  return %y
}
graph backward Total(grad %g: f32[]) where rows = 4 {
  %0 = expand(%g, sizes=[2*rows, 3]) : f32[2*rows, 3]
  %1 = mul(%0, 100.0) : f32[2*rows, 3]
  return %1
}
graph functional f(%x: f32[s0, 3]) where s0 = 4 {
  %a = cat([%x, %x], dim=0) : f32[2*s0, 3]
  %b = Total(%a, sizes=[s0]) : f32[]
  return %b
}
)";

TEST_CASE("symbols of the bodies stand for what an application says", "[custom]") {
  const Graph graph = parse_graph(kSymbolic);
  verify(graph, "parse");
  CHECK(print_graph(graph) == print_graph(parse_graph(print_graph(graph))));
  const Joint joint = differentiate(graph, {true});
  verify(joint.graph, "differentiate");
  const auto run = Executable::make(graph);
  for (const std::int64_t n : {4, 7, 2}) {
    const SymbolValues symbols{{"s0", n}};
    CHECK(run->misfit(symbols).empty());
    const Tensor x = ops::full(Dims{n, 3}, Tensor::number(0.5), DType::F32);
    const Tensor one = ops::ones(Dims{}, DType::F32);
    const Tensor given[] = {x, one};
    const Tensor wanted = ops::full(Dims{n, 3}, Tensor::number(200.0), DType::F32);
    CHECK(close(run->run({&x, 1}, symbols)[0], ops::sum(x) * 2.0));
    CHECK(close(evaluate(joint.graph, given)[1], wanted));
    const Tensor leaf = ops::clone(x);
    set_requires_grad(leaf, true);
    CHECK(close(grads({run->run({&leaf, 1}, symbols)[0]}, {leaf})[0], wanted));
    CHECK(close(grads({evaluate(graph, {&leaf, 1})[0]}, {leaf})[0], wanted));
  }
  const Graph now = at_hints(graph);
  verify(now, "at_hints");
  CHECK(print_graph(now).find("Total(%a, sizes=[4])") != std::string::npos);
  std::string wrong(kSymbolic);
  wrong.replace(wrong.find("sizes=[s0]"), 10, "sizes=[2*s0]");
  CHECK_THROWS_WITH(verify(parse_graph(wrong), "parse"), Catch::Contains("was captured for"));
  wrong = kSymbolic;
  wrong.replace(wrong.find("sizes=[s0]"), 10, "sizes=[s0, 1]");
  CHECK_THROWS_WITH(verify(parse_graph(wrong), "parse"), Catch::Contains("takes 1 sizes"));
}

}  // namespace kiln::jit::custom_test
