// Running graphs: the same bits as the ops give by themselves, effects on what the caller gave, symbolic
// sizes.
#include "jit/graph/evaluate.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tensor/autograd.h"
#include "tests/jit/graphs.h"

namespace kiln::evaluate_test {

using namespace kiln::jit;
using kiln::testing::describe;
using kiln::testing::make;
using kiln::testing::same_bits;

namespace {

Tensor line(const Dims& sizes, double first = 0) {
  return make(sizes, DType::F32, [first](std::int64_t i) { return first + static_cast<double>(i); });
}
Tensors run(std::string_view text, std::initializer_list<Tensor> arguments) {
  return evaluate(parse_graph(text), Inputs(arguments.begin(), arguments.size()));
}
// `empty` and its kin: what their results hold is chance.
bool leaves_elements_unset(const Op& op) { return op.name().find("empty") != std::string_view::npos; }
std::vector<long double> elements(const Tensor& x) { return kiln::testing::elements(x); }

}  // namespace

TEST_CASE("a graph of one op gives what the op gives", "[jit][evaluate]") {
  jit::testing::for_each_sample([](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (op.draws() || leaves_elements_unset(op)) return;
    INFO(print_graph(graph));
    const std::vector<Tensor> arguments = jit::testing::present(inputs);
    const Tensors actual = evaluate(graph, arguments);
    const Tensors expected = kiln::bind(op, inputs, evaluate(op, graph.nodes[0].attrs, {}));
    REQUIRE(actual.size() == expected.size());
    for (std::size_t k = 0; k < actual.size(); ++k) {
      INFO(describe(actual[k]) << " and " << describe(expected[k]));
      CHECK(same_bits(actual[k], expected[k]));
    }
  });
}

TEST_CASE("a write-back changes the caller's tensor, which is what is returned", "[jit][evaluate]") {
  const Tensor x = line({2, 2});
  const Tensors out =
      run("graph functional f(%x: f32[2, 2]) {\n"
          "  %x_1 = add(%x, 1) : f32[2, 2]\n"
          "  %y = t(%x_1) : f32[2, 2]\n"
          "  %z = mul(%x_1, 2) : f32[2, 2]\n"
          "  return %x_1, %y, %z\n"
          "  write %x <- %x_1\n"
          "}\n",
          {x});
  CHECK(out[0].is_same(x));
  CHECK(shares_storage(out[1], x));
  CHECK_FALSE(shares_storage(out[2], x));
  CHECK(elements(x) == std::vector<long double>{1, 2, 3, 4});
  CHECK(elements(out[1]) == std::vector<long double>{1, 3, 2, 4});
  CHECK(elements(out[2]) == std::vector<long double>{2, 4, 6, 8});
}

TEST_CASE("two inputs can change places", "[jit][evaluate]") {
  const Tensor a = line({2}), b = line({2}, 10);
  run("graph functional swap(%a: f32[2], %b: f32[2]) {\n"
      "  return\n"
      "  write %a <- %b\n"
      "  write %b <- %a\n"
      "}\n",
      {a, b});
  CHECK(elements(a) == std::vector<long double>{10, 11});
  CHECK(elements(b) == std::vector<long double>{0, 1});
}

TEST_CASE("a layout is written on the tensor itself", "[jit][evaluate]") {
  const Tensor x = line({2, 3});
  const Tensors out =
      run("graph functional f(%x: f32[2, 3]) {\n"
          "  %y = t(%x) : f32[3, 2]\n"
          "  return %y\n"
          "  layout %x <- t_() as %y\n"
          "}\n",
          {x});
  CHECK(out[0].is_same(x));
  CHECK(x.sizes() == Dims{3, 2});
}

TEST_CASE("a base is the memory that arguments share", "[jit][evaluate]") {
  const Tensor whole = line({6});
  const Tensor rows = Tensor::alias(whole, Layout{{2, 3}, {3, 1}, 0});
  const Tensor end = Tensor::alias(whole, Layout{{2}, {1}, 4});
  const Tensors out =
      run("graph functional f(base(0, 2) %m: f32[6], %y: f32[2]) {\n"
          "  %end = as_strided(%m, size=[2], stride=[1], storage_offset=4) : f32[2]\n"
          "  %sum = add(%end, %y) : f32[2]\n"
          "  %m_1 = slice_scatter(%m, %sum, dim=0, start=4, end=6, step=1) : f32[6]\n"
          "  %rows = view(%m_1, shape=[2, 3]) : f32[2, 3]\n"
          "  return %rows\n"
          "  write %m <- %m_1\n"
          "  same %m.0 <- %rows\n"
          "}\n",
          {rows, line({2}, 100), end});
  CHECK(out[0].is_same(rows));
  CHECK(elements(rows) == std::vector<long double>{0, 1, 2, 3, 104, 106});
}

TEST_CASE("symbols take their values from the arguments", "[jit][evaluate]") {
  const std::string text =
      "graph functional f(%x: f32[s0, 2], %y: f32[2*s0]) where s0 = 3 {\n"
      "  %0 = view(%x, shape=[2*s0]) : f32[2*s0]\n"
      "  %1 = add(%0, %y) : f32[2*s0]\n"
      "  %2 = mul(%1, s0) : f32[2*s0]\n"
      "  return %2\n"
      "}\n";
  const Tensors out = run(text, {line({2, 2}), line({4})});
  CHECK(elements(out[0]) == std::vector<long double>{0, 4, 8, 12});
  CHECK_THROWS_AS(run(text, {line({2, 2}), line({5})}), OpError);
  CHECK_THROWS_AS(run(text, {line({2, 3}), line({4})}), OpError);
  CHECK_THROWS_AS(run(text, {line({2, 2})}), OpError);
}

TEST_CASE("constants are fresh in each call", "[jit][evaluate]") {
  const Graph graph = parse_graph(
      "graph captured f() {\n"
      "  %c = constant([1, 2]) : i64[2]\n"
      "  %d = add_(%c, 1) : i64[2]\n"
      "  return %c\n"
      "}\n");
  for (int i = 0; i < 2; ++i) CHECK(elements(evaluate(graph, {})[0]) == std::vector<long double>{2, 3});
}

TEST_CASE("the tape records what a graph does", "[jit][evaluate]") {
  const Tensor x = line({2}, 1);
  set_requires_grad(x, true);
  const Tensors out =
      run("graph functional f(%x: f32[2]) {\n"
          "  %y = square(%x) : f32[2]\n"
          "  %z = sum(%y, keepdim=false) : f32[]\n"
          "  return %z\n"
          "}\n",
          {x});
  backward(out[0]);
  CHECK(elements(grad_of(x)) == std::vector<long double>{2, 4});
}

}  // namespace kiln::evaluate_test
