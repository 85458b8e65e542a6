// How much one kernel does: many cheap ops, fewer costly ones.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tests/jit/fused_support.h"

using namespace kiln;
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
  CHECK(chain("sub", 200).loops().size() == 1);
  const FusedGraph functions = chain("tanh", 100);
  CHECK(functions.loops().size() == 2);
  CHECK_THAT(functions.fusion(), Catch::Contains("the kernel would be too large"));
}
