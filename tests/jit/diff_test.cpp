// What is shown of the difference of two graphs.
#include "jit/graph/diff.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"

namespace kiln::diff_test {

using namespace kiln::jit;

namespace {

// A graph of f32[2] with these lines as nodes.
Graph graph_of(const std::string& nodes, const std::string& result) {
  return parse_graph("graph functional f(%x: f32[2]) {\n" + nodes + "  return %" + result + "\n}\n");
}

}  // namespace

TEST_CASE("equal graphs differ in nothing", "[jit][diff]") {
  const Graph graph = graph_of("  %a = cos(%x) : f32[2]  # f.kiln:1:2\n", "a");
  CHECK(diff_graphs(graph, graph).empty());
  CHECK(diff_graphs(graph, graph_of("  %a = cos(%x) : f32[2]  # g.kiln:7:8\n", "a")).empty());
}

TEST_CASE("a node that is gone, one that is new, and one that changed", "[jit][diff]") {
  const Graph a = graph_of(
      "  %a = cos(%x) : f32[2]\n"
      "  %b = neg(%a) : f32[2]\n"
      "  %c = mul(%b, 2) : f32[2]\n",
      "c");
  const Graph b = graph_of(
      "  %a = cos(%x) : f32[2]\n"
      "  %c = mul(%a, 2) : f32[2]\n"
      "  %d = exp(%c) : f32[2]\n",
      "d");
  CHECK(diff_graphs(a, b) ==
        "  graph functional f(%x: f32[2]) {\n"
        "    %a = cos(%x) : f32[2]\n"
        "-   %b = neg(%a) : f32[2]\n"
        "-   %c = mul(%b, 2) : f32[2]\n"
        "+   %c = mul(%a, 2) : f32[2]\n"
        "+   %d = exp(%c) : f32[2]\n"
        "-   return %c\n"
        "+   return %d\n"
        "  }\n");
}

TEST_CASE("nodes of one place stand together, whatever their ops", "[jit][diff]") {
  const Graph a = graph_of(
      "  %a = cos(%x) : f32[2]                            # f.kiln:1:2\n"
      "  %b = add(%a, 1) : f32[2]                         # f.kiln:2:2\n",
      "b");
  const Graph b = graph_of(
      "  %a = sin(%x) : f32[2]                            # f.kiln:1:2\n"
      "  %b = add(%a, 1) : f32[2]                         # f.kiln:2:2\n",
      "b");
  CHECK(diff_graphs(a, b) ==
        "  graph functional f(%x: f32[2]) {\n"
        "-   %a = cos(%x) : f32[2]                            # f.kiln:1:2\n"
        "+   %a = sin(%x) : f32[2]                            # f.kiln:1:2\n"
        "    %b = add(%a, 1) : f32[2]                         # f.kiln:2:2\n"
        "    return %b\n"
        "  }\n");
}

TEST_CASE("graphs too long to be aligned are shown one after the other", "[jit][diff]") {
  const auto chain = [](const std::string& op) {
    std::string nodes = "  %v0 = " + op + "(%x) : f32[2]\n";
    for (int i = 1; i < 10'000; ++i) {
      nodes += "  %v" + std::to_string(i) + " = " + op + "(%v" + std::to_string(i - 1) + ") : f32[2]\n";
    }
    return graph_of(nodes, "v9999");
  };
  const std::string text = diff_graphs(chain("cos"), chain("sin"));
  CHECK(text.starts_with("- graph functional f(%x: f32[2]) {\n-   %v0 = cos(%x)"));
  CHECK(text.find("- }\n+ graph functional f(%x: f32[2]) {\n") != std::string::npos);
}

TEST_CASE("what values are called and where independent nodes stand is no difference", "[jit][diff]") {
  const Graph a = graph_of(
      "  %a = cos(%x) : f32[2]\n"
      "  %b = sin(%x) : f32[2]\n"
      "  %c = mul(%a, %b) : f32[2]\n",
      "c");
  const Graph b = parse_graph(
      "graph functional g(%y: f32[2]) {\n"
      "  %b = sin(%y) : f32[2]\n"
      "  %0 = cos(%y) : f32[2]\n"
      "  %c = mul(%0, %b) : f32[2]\n"
      "  return %c\n}\n");
  CHECK(diff_graphs(a, b).empty());
  CHECK_FALSE(same_text(a, b));
  CHECK(same_text(a, a));
}

TEST_CASE("the same nodes over other values are different", "[jit][diff]") {
  const Graph a =
      graph_of("  %a = cos(%x) : f32[2]\n  %b = sin(%x) : f32[2]\n  %c = sub(%a, %b) : f32[2]\n", "c");
  const Graph b =
      graph_of("  %a = cos(%x) : f32[2]\n  %b = sin(%x) : f32[2]\n  %c = sub(%b, %a) : f32[2]\n", "c");
  CHECK(diff_graphs(a, b) ==
        "  graph functional f(%x: f32[2]) {\n"
        "    %a = cos(%x) : f32[2]\n"
        "    %b = sin(%x) : f32[2]\n"
        "-   %c = sub(%a, %b) : f32[2]\n"
        "+   %c = sub(%b, %a) : f32[2]\n"
        "    return %c\n"
        "  }\n");
}

TEST_CASE("nodes stay behind writes and draws", "[jit][diff]") {
  const auto captured = [](const std::string& nodes) {
    return parse_graph("graph captured f(%x: f32[2]) {\n" + nodes + "  return %a, %b\n}\n");
  };
  const Graph reads_first = captured("  %a = cos(%x) : f32[2]\n  %b = add_(%x, 1) : f32[2]\n");
  const Graph writes_first = captured("  %b = add_(%x, 1) : f32[2]\n  %a = cos(%x) : f32[2]\n");
  CHECK_FALSE(diff_graphs(reads_first, writes_first).empty());
  CHECK(diff_graphs(reads_first, reads_first).empty());
}

TEST_CASE("texts of code are compared up to names", "[jit][diff]") {
  const std::string a = "loop:  # f.kiln:1:2\n  %1 = fadd float %x, %y\n  ; %z\n  ret float %1\n";
  const std::string b = "again:\n  %7 = fadd float %0, %y\n  ret float %7\n";
  CHECK(diff_texts(a, b, Names::Values).empty());
  const std::string other = "again:\n  %7 = fadd float %0, %y\n  ret float %0\n";
  CHECK(diff_texts(a, other, Names::Values) ==
        "  again:\n    %7 = fadd float %0, %y\n-   ret float %1\n+   ret float %0\n");
  CHECK(diff_texts(a, other, Names::Registers).empty());
  CHECK_FALSE(diff_texts(a, "loop:\n  %1 = fsub float %x, %y\n  ret float %1\n", Names::Registers).empty());
}

}  // namespace kiln::diff_test
