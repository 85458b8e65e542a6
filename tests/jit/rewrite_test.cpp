// Inputs in another order.
#include "jit/graph/rewrite.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"

namespace kiln::rewrite_test {

using namespace kiln::jit;

TEST_CASE("permuted inputs keep what everything refers to", "[jit][rewrite]") {
  const Graph graph = parse_graph(
      "graph forward f(%a: f32[2], parameter %b: f32[3], %c: f32[2]) {\n"
      "  %d = sub(%c, %a) : f32[2]\n"
      "  return %d, %b\n"
      "  write %c <- %d\n"
      "  save %b\n"
      "}\n");
  const int order[] = {2, 0, 1};
  const Graph made = permute_inputs(graph, order);
  CHECK(find_fault(made).empty());
  CHECK(print_graph(made) ==
        "graph forward f(%c: f32[2], %a: f32[2], parameter %b: f32[3]) {\n"
        "  %d = sub(%c, %a) : f32[2]\n"
        "  return %d, %b\n"
        "  write %c <- %d\n"
        "  save %b                                          # 12 B\n"
        "}\n");
}

TEST_CASE("a name that is taken gets a number", "[jit][rewrite]") {
  TakenNames taken{{"x", 1}, {"x_1", 1}};
  CHECK(fresh_name(taken, "x") == "x_2");
  CHECK(fresh_name(taken, "y") == "y");
  CHECK(fresh_name(taken, "y") == "y_1");
  CHECK(fresh_name(taken, "").empty());
}

}  // namespace kiln::rewrite_test
