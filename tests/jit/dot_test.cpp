// Pictures of a graph, for Graphviz and for Mermaid.
#include "jit/graph/dot.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"

namespace kiln::dot_test {

using namespace kiln::jit;

TEST_CASE("a box for each node, an arrow for each use", "[jit][dot]") {
  const Graph graph = parse_graph(
      "graph forward f(%x: f32[2], parameter %w: f32[2]) {\n"
      "  %a = mul(%x, %w) : f32[2]                        # f.kiln:1:2\n"
      "  %b = add(%a, %a) : f32[2]\n"
      "  return %b, 3\n"
      "  write %x <- %a\n"
      "  save %w\n"
      "}\n");
  CHECK(dot_text(graph) ==
        "digraph \"f\" {\n"
        "  rankdir=TB;\n"
        "  node [fontname=\"monospace\", fontsize=11];\n"
        "  edge [fontname=\"monospace\", fontsize=9];\n"
        "  i0 [shape=ellipse, label=\"%x\"];\n"
        "  i1 [shape=ellipse, label=\"parameter %w\"];\n"
        "  n0 [shape=box, label=\"mul %a\", tooltip=\"%a = mul(%x, %w) : f32[2]  f.kiln:1:2\"];\n"
        "  i0 -> n0 [label=\"f32[2]\"];\n"
        "  i1 -> n0 [label=\"f32[2]\"];\n"
        "  n1 [shape=box, label=\"add %b\", tooltip=\"%b = add(%a, %a) : f32[2]\"];\n"
        "  n0 -> n1 [label=\"f32[2]\"];\n"
        "  n0 -> n1 [label=\"f32[2]\"];\n"
        "  returned [shape=ellipse, label=\"return\"];\n"
        "  n1 -> returned [label=\"f32[2]\"];\n"
        "  e0 [shape=ellipse, label=\"write %x <- %a\"];\n"
        "  n0 -> e0 [label=\"f32[2]\", style=dashed];\n"
        "  s0 [shape=ellipse, label=\"save %w\"];\n"
        "  i1 -> s0 [label=\"f32[2]\", style=dotted];\n"
        "}\n");
}

TEST_CASE("quotes and backslashes in names of places", "[jit][dot]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2]) {\n"
      "  %a = cos(%x) : f32[2]  # a\"b\\c.kiln:1:2\n"
      "  return %a\n"
      "}\n");
  CHECK(dot_text(graph).find("a\\\"b\\\\c.kiln:1:2\"];") != std::string::npos);
}

TEST_CASE("a flowchart for Mermaid", "[jit][dot]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2], parameter %w_1: f32[2]) {\n"
      "  %a = mul(%x, %w_1) : f32[2]\n"
      "  return %a\n"
      "  write %x <- %a\n"
      "}\n");
  CHECK(mermaid_text(graph) ==
        "flowchart TB\n"
        "  i0([\"%x\"])\n"
        "  i1([\"parameter %w#95;1\"])\n"
        "  n0[\"mul %a\"]\n"
        "  i0 -->|\"f32[2]\"| n0\n"
        "  i1 -->|\"f32[2]\"| n0\n"
        "  returned([\"return\"])\n"
        "  n0 -->|\"f32[2]\"| returned\n"
        "  e0([\"write %x #60;- %a\"])\n"
        "  n0 -.->|\"f32[2]\"| e0\n");
}

}  // namespace kiln::dot_test
