// What a graph must be, and how a fault is shown.
#include "jit/graph/verify.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"

namespace kiln::verify_test {

using namespace kiln::jit;

namespace {

Graph sound() {
  return parse_graph(
      "graph functional f(%x: f32[2, 3], %y: f32[3]) {\n"
      "  %a = mul(%x, %y) : f32[2, 3]                     # f.kiln:1:5\n"
      "  %b = sum(%a, dim=[0]) : f32[3]                   # f.kiln:2:7\n"
      "  %c = exp(%b) : f32[3]\n"
      "  return %c\n"
      "  write %y <- %c\n"
      "}\n");
}
bool mentions(const std::string& fault, std::string_view what) {
  return fault.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a sound graph has no fault", "[jit][verify]") { CHECK(find_fault(sound()).empty()); }

TEST_CASE("each fault is found", "[jit][verify]") {
  Graph graph = sound();
  SECTION("order") {
    std::swap(graph.nodes[0], graph.nodes[1]);
    CHECK(mentions(find_fault(graph), "before it is used"));
  }
  SECTION("type") {
    graph.values[3].type.dtype = DType::F64;
    CHECK(mentions(find_fault(graph), "the type is f64[3], the rule gives f32[3]"));
  }
  SECTION("number of results") {
    graph.values.push_back({"d", graph.values[3].type});
    graph.nodes[2].outputs.push_back(5);
    CHECK(mentions(find_fault(graph), "the op has 1 results, the node 2"));
  }
  SECTION("dangling") {
    graph.outputs.push_back(Operand::of(99));
    CHECK(mentions(find_fault(graph), "before it is used"));
  }
  SECTION("a value without definition") {
    graph.values.push_back({"d", {}});
    CHECK(mentions(find_fault(graph), "nothing defines"));
  }
  SECTION("names") {
    graph.values[4].name = "a";
    CHECK(mentions(find_fault(graph), "two values are named %a"));
  }
  SECTION("writes") {
    graph.nodes[2].form = Form::Write;
    CHECK(find_fault(graph).empty());  // nobody reads %b again
    graph.outputs.push_back(graph.nodes[2].operands[0]);
    CHECK(mentions(find_fault(graph), "a write is left"));
  }
  SECTION("writes of what has no such form") {
    graph.stage = Stage::Captured;
    graph.nodes[1].form = Form::Write;
    CHECK(mentions(find_fault(graph), "sum has no form that writes"));
  }
  SECTION("operands") {
    graph.nodes[0].operands.pop_back();
    CHECK(mentions(find_fault(graph), "mul has 1 operands"));
  }
  SECTION("effects") {
    graph.effects[0].input = 0;
    CHECK(mentions(find_fault(graph), "a f32[3] is written to a f32[2, 3]"));
  }
  SECTION("the node is shown") {
    graph.values[3].type.dtype = DType::F64;
    CHECK(mentions(find_fault(graph), " at %b = sum(%a, dim=[0]"));
  }
  SECTION("members of a base") {
    graph.inputs[1] = {Role::Base, {2}, std::nullopt, 0};
    CHECK(mentions(find_fault(graph), "a base cannot stand for argument 2"));
    graph.inputs[1].members = {1, 1};
    CHECK(mentions(find_fault(graph), "a base cannot stand for argument 1"));
  }
  SECTION("the form of a base") {
    graph.inputs[0] = {Role::Base, {0}, std::nullopt, 0};
    CHECK(mentions(find_fault(graph), "a base is flat and of known size"));
  }
  SECTION("symbols") {
    graph.values[0].type.sizes[0] = Dim::symbol("s0");
    CHECK(mentions(find_fault(graph), "the symbol s0 has no value"));
  }
}

TEST_CASE("a fault is shown among its neighbours", "[jit][verify]") {
  Graph graph = sound();
  graph.values[3].type.dtype = DType::F64;
  try {
    verify(graph, "fold");
    FAIL("no fault");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()) ==
          "after fold, graph f is wrong: the type is f64[3], the rule gives f32[3]\n"
          "  %a = mul(%x, %y) : f32[2, 3]\n"
          "> %b = sum(%a, dim=[0], keepdim=false) : f64[3]\n"
          "  %c = exp(%b) : f32[3]\n"
          "from f.kiln:2:7\n");
  }
}

TEST_CASE("a tensor whose layout was written goes by its new name", "[jit][verify]") {
  const auto fault_with = [](const std::string& last) {
    return find_fault(
        parse_graph("graph captured f(%x: f32[2, 3]) {\n"
                    "  %y = add_(%x, 1) : f32[2, 3]\n"
                    "  %z = t_(%y) : f32[3, 2]\n" +
                    last + "  return %a\n}\n"));
  };
  CHECK(fault_with("  %a = neg(%z) : f32[3, 2]\n").empty());
  CHECK(mentions(fault_with("  %a = neg(%x) : f32[2, 3]\n"), "goes by the name of the result"));
  CHECK(mentions(fault_with("  %a = neg(%y) : f32[2, 3]\n"), "goes by the name of the result"));
}

}  // namespace kiln::verify_test
