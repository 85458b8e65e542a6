// How much one kernel does: many cheap ops, fewer costly ones.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tests/jit/fused_support.h"

namespace kiln::fused_limits_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// Op after op, each of what the one before gives.
FusedGraph chain(const std::string& call, int length) {
  std::string text = "graph functional f(%x0: f32[40]) {\n";
  for (int i = 0; i < length; ++i) {
    const std::string from = "%x" + std::to_string(i), to = "%x" + std::to_string(i + 1);
    text += "  " + to + " = " + call + "(" + from + (call == "sub" ? ", 0.25" : "") + ") : f32[40]\n";
  }
  const Graph graph = parse_graph(text + "  return %x" + std::to_string(length) + "\n}\n");
  FusedGraph fused = fuse(graph);
  check_same(graph, fused, std::vector<Tensor>{values({40}, DType::F32, 1)});
  return fused;
}

}  // namespace

TEST_CASE("a kernel does as much as its code stays in cache", "[jit][fused]") {
  CHECK(chain("sub", 1000).loops().size() == 1);
  const FusedGraph functions = chain("tanh", 300);
  CHECK(functions.loops().size() == 2);
  CHECK_THAT(functions.fusion(), Catch::Contains("the kernel would be too large"));
}

TEST_CASE("many values within a kernel are no tensors that it reads and makes", "[jit][fused]") {
  // Each of them is read by the last nodes, which join the kernel last.
  constexpr int kMany = 40;
  std::string text = "graph functional f(%x: f32[40]) {\n";
  text += "  %a0 = mul(%x, 0.5) : f32[40]\n";
  for (int i = 1; i < kMany; ++i) text += fmt::format("  %a{} = sub(%a{}, 0.5) : f32[40]\n", i, i - 1);
  text += "  %s0 = neg(%x) : f32[40]\n";
  for (int i = 0; i < kMany; ++i) text += fmt::format("  %s{} = add(%s{}, %a{}) : f32[40]\n", i + 1, i, i);
  const Graph graph = parse_graph(text + fmt::format("  return %s{}\n}}\n", kMany));
  FusedGraph fused = fuse(graph);
  CHECK(fused.graph.nodes.size() == 1);
  check_same(graph, fused, std::vector<Tensor>{values({40}, DType::F32, 1)});
}

}  // namespace kiln::fused_limits_test
