// Which nodes of an earlier graph the nodes of a later one come from.
#include <catch2/catch.hpp>

#include "jit/autodiff/gradient_graphs.h"
#include "jit/graph/lineage.h"
#include "jit/graph/text.h"
#include "jit/loops/kernel_op.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/fused.h"
#include "jit/pipeline/fused_text.h"

namespace kiln::lineage_test {

using namespace kiln::jit;

namespace {

std::vector<int> lineage(const Node& node) {
  const std::span<const int> nodes = node.place.lineage.nodes();
  return {nodes.begin(), nodes.end()};
}

// Two layers of one line of the program.
Graph numbered() {
  Graph graph = parse_graph(
      "graph functional f(%x: f32[4, 64], %a: f32[64], %b: f32[64]) {\n"
      "  %0 = mul(%x, %a) : f32[4, 64]                    # net.kiln:1:9\n"
      "  %1 = relu(%0) : f32[4, 64]                       # net.kiln:1:20\n"
      "  %2 = mul(%1, %b) : f32[4, 64]                    # net.kiln:1:9\n"
      "  %3 = relu(%2) : f32[4, 64]                       # net.kiln:1:20\n"
      "  return %3\n"
      "}\n");
  number_nodes(graph);
  return graph;
}

}  // namespace

TEST_CASE("the lineage is no part of equality or text") {
  Graph graph = numbered();
  CHECK(parse_graph(print_graph(graph)) == graph);
}

TEST_CASE("a node that stands for several comes from all of them") {
  Graph graph = parse_graph(
      "graph functional f(%x: f32[3]) {\n"
      "  %0 = exp(%x) : f32[3]\n"
      "  %1 = exp(%x) : f32[3]\n"
      "  %2 = add(%0, %1) : f32[3]\n"
      "  return %2\n"
      "}\n");
  number_nodes(graph);
  const Graph made = run_recipe(recipes::kFewerSteps, graph);
  REQUIRE(made.nodes.size() == 2);
  CHECK(lineage(made.nodes[0]) == std::vector{0, 1});
  CHECK(lineage(made.nodes[1]) == std::vector{2});
}

TEST_CASE("a kernel comes from all of its nodes, and each line of its loops from one") {
  const Graph fused = outline(numbered());
  REQUIRE(fused.nodes.size() == 1);
  CHECK(lineage(fused.nodes[0]) == std::vector{0, 1, 2, 3});
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  std::vector<std::vector<int>> of_lines;
  for (const CodeLine& each : loops_lines(fused)) {
    if (each.kernel < 0 || each.line < 0) continue;
    INFO(each.text);
    REQUIRE(each.nodes.size() == 1);
    of_lines.push_back(lineage(kernels[0].source->nodes[static_cast<std::size_t>(each.nodes[0])]));
  }
  // Loads belong to what reads them: x and a to the first product, b to the second.
  CHECK(of_lines == std::vector<std::vector<int>>{{0}, {0}, {0}, {1}, {2}, {2}, {3}, {3}});
}

TEST_CASE("the forward and the backward graph name nodes of the joint graph, and that those of the program") {
  const GradientGraphs made = gradient_graphs(numbered(), {true, false, false});
  for (const Node& node : made.joint.graph.nodes) {
    INFO(op_text(node) << " " << node.origin);
    REQUIRE(lineage(node).size() == 1);
    CHECK(lineage(node)[0] < 4);
  }
  const auto joint_size = static_cast<int>(made.joint.graph.nodes.size());
  for (const Graph* const part : {&made.parts.forward, &made.parts.backward}) {
    for (const Node& node : part->nodes) {
      INFO(op_text(node));
      REQUIRE(lineage(node).size() == 1);
      REQUIRE(lineage(node)[0] < joint_size);
      CHECK(made.joint.graph.nodes[static_cast<std::size_t>(lineage(node)[0])].op == node.op);
    }
  }
}

}  // namespace kiln::lineage_test
