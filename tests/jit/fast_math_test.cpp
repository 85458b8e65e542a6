// What graphs that were recorded within `fastmath()` allow their kernels.
#include <catch2/catch.hpp>

#include <cmath>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/runtime/executable.h"
#include "tensor/cpu/isa.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"

namespace kiln::fast_math_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// x * x - y, of which one rounding keeps what two lose.
Graph difference(bool is_fast) {
  const std::string mode = is_fast ? " with fastmath" : "";
  return parse_graph("graph functional f(%x: f64[n], %y: f64[n])" + mode +
                     " where n = 40 {\n"
                     "  %p = mul(%x, %x) : f64[n]\n"
                     "  %d = sub(%p, %y) : f64[n]\n"
                     "  return %d\n"
                     "}\n");
}

double first_of(const Graph& graph, double x, double y) {
  const std::vector<Tensor> given = {make({40}, DType::F64, [x](std::int64_t) { return x; }),
                                     make({40}, DType::F64, [y](std::int64_t) { return y; })};
  const FusedGraph fused = fuse(graph);
  const Tensors made = Executable::make(fused.graph)->run(given, bind_symbols(graph, given));
  return static_cast<double>(element(made[0], 0));
}

}  // namespace

TEST_CASE("within fastmath a product and a difference are rounded once, and nowhere else",
          "[jit][fast_math]") {
  const double x = 1 + std::ldexp(1, -30), y = x * x;
  CHECK(first_of(difference(false), x, y) == 0);
  const double lost = std::fma(x, x, -y);
  REQUIRE(lost != 0);
  // The oldest instruction set has no multiply-adds.
  CHECK(first_of(difference(true), x, y) == (cpu::isa() >= cpu::Isa::V3 ? lost : 0));
  CHECK(fuse(difference(true)).loops()[0].starts_with("kernel kernel_0 with fastmath {\n"));
}

TEST_CASE("a graph's text says that it is of fastmath", "[jit][fast_math]") {
  const Graph graph = difference(true);
  CHECK(graph.fast_math);
  CHECK(print_graph(graph).starts_with(
      "graph functional f(%x: f64[n], %y: f64[n]) with fastmath where n = 40 {\n"));
  CHECK(parse_graph(print_graph(graph)) == graph);
  CHECK_FALSE(difference(false) == graph);
}

TEST_CASE("functions keep their bits within fastmath", "[jit][fast_math]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f64[40]) with fastmath {\n"
      "  %e = exp(%x) : f64[40]\n"
      "  %s = sin(%e) : f64[40]\n"
      "  %a = add(%s, 1.0) : f64[40]\n"
      "  return %e, %a\n"
      "}\n");
  check_same(graph, fuse(graph), {values({40}, DType::F64, 1)});
}

}  // namespace kiln::fast_math_test
