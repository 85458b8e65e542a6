// Models of small graphs: which nodes they have at which opset, and that symbols, functions and writes are
// there.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "onnx/export/check.h"
#include "onnx/export/export.h"

namespace kiln::export_test {

using namespace kiln::onnx;

namespace {

Export exported(const std::string& text, ExportOptions options = {}) {
  return export_graph(jit::parse_graph(text), {}, options);
}

std::string operators(const std::vector<NodeProto>& nodes) {
  std::string names;
  for (const NodeProto& node : nodes) names += (names.empty() ? "" : " ") + node.op_type;
  return names;
}

}  // namespace

TEST_CASE("Rows are written by their rules, and values keep their names") {
  const Export made = exported(
      "graph functional f(%x: f32[2]) {\n"
      "  %y = expm1(%x) : f32[2]\n"
      "  %z = add(%y, 2) : f32[2]\n"
      "  return %z\n"
      "}\n");
  CHECK(made.problems.empty());
  CHECK(operators(made.model.graph.nodes) == "Div Sinh Div Exp Mul Mul Add");
  CHECK(made.model.graph.outputs[0].name == "z");
  CHECK(made.model.opset("") == 20);
  CHECK(find_fault(made.model).empty());
}

TEST_CASE("An op without an operator is a local function made of its body, once for equal applications") {
  const Export made = exported(
      "graph functional f(%x: f32[2], %y: f32[2]) {\n"
      "  %a = hypot(%x, %y) : f32[2]\n"
      "  %b = hypot(%y, %x) : f32[2]\n"
      "  %c = add(%a, %b) : f32[2]\n"
      "  return %c\n"
      "}\n");
  CHECK(operators(made.model.graph.nodes) == "hypot hypot Add");
  REQUIRE(made.model.functions.size() == 1);
  CHECK(made.model.functions[0].domain == "kiln.ops");
  CHECK(made.model.functions[0].inputs == std::vector<std::string>{"x", "other"});
  CHECK(find_fault(made.model).empty());
}

TEST_CASE("Symbolic sizes are computed from the shapes of inputs") {
  const Export made = exported(
      "graph functional f(%x: f32[s0, 3]) where s0 = 2 {\n"
      "  %y = view(%x, shape=[3*s0]) : f32[3*s0]\n"
      "  return %y\n"
      "}\n");
  CHECK(made.problems.empty());
  CHECK(operators(made.model.graph.nodes) == "Shape Gather Mul Reshape Concat Reshape");
  CHECK(made.model.graph.inputs[0].type.shape->at(0).symbol == "s0");
  CHECK(find_fault(made.model).empty());
}

TEST_CASE("All that cannot be exported is told at once") {
  const Export made = exported(
      "graph functional f(%x: f32[40, 40]) {\n"
      "  %a = inv(%x) : f32[40, 40]\n"
      "  %b = cholesky(%a, upper=false) : f32[40, 40]\n"
      "  return %b\n"
      "}\n");
  REQUIRE(made.problems.size() == 2);
  CHECK(made.problems[0].reason ==
        "inv: a model has it unrolled over the sizes of its matrices, which must be 1 to 32, not 40");
}

TEST_CASE("A collective is a function of one rank that is given what it was called with") {
  const Export made = exported(
      "graph functional f(%x: f32[2]) {\n"
      "  %a = allreduce(%x, op=\"sum\", prescale=0.5, postscale=1.0, process_set=0, name=\"g\", place=\"\") "
      ": f32[2]\n"
      "  return %a\n"
      "}\n");
  REQUIRE(made.problems.empty());
  REQUIRE(made.model.functions.size() == 1);
  const FunctionProto& function = made.model.functions[0];
  CHECK(function.domain == "kiln.dist");
  CHECK(function.name == "allreduce");
  CHECK(function.attributes ==
        std::vector<std::string>{"op", "prescale", "postscale", "process_set", "name", "place"});
  REQUIRE(made.model.graph.nodes.size() == 1);
  CHECK(made.model.graph.nodes[0].attributes.size() == function.attributes.size());
  CHECK(find_fault(made.model).empty());
}

TEST_CASE("Complex values are pairs of parts, which views move one by one") {
  const Export made = exported(
      "graph functional f(%x: f32[3, 4], %z: c64[4, 3]) {\n"
      "  %c = complex(%x, 0) : c64[3, 4]\n"
      "  %t = transpose(%c, dim0=0, dim1=1) : c64[4, 3]\n"
      "  %s = cat([%t, %z], dim=0) : c64[8, 3]\n"
      "  %p = view_as_real(%s) : f32[8, 3, 2]\n"
      "  %d = dft(%p, inverse=false, norm=\"backward\") : f32[8, 3, 2]\n"
      "  %y = view_as_complex(%d) : c64[8, 3]\n"
      "  %r = imag(%y) : f32[8, 3]\n"
      "  return %r, %y\n"
      "}\n");
  for (const auto& each : made.problems) INFO(each.reason);
  CHECK(made.problems.empty());
  CHECK(find_fault(made.model).empty());
  REQUIRE(made.model.graph.inputs.size() == 2);
  CHECK(made.model.graph.inputs[1].type.shape->size() == 3);
  CHECK(made.model.graph.inputs[1].type.element == ElementType::Float);
  CHECK(made.model.graph.outputs[1].type.shape->at(2).value == 2);
  const Export refused = exported(
      "graph functional f(%z: c64[4]) {\n"
      "  %y = sinh(%z) : c64[4]\n"
      "  return %y\n"
      "}\n");
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].reason ==
        "'sinh' of complex numbers has no form in ONNX: write it over their parts, z.real() and z.imag()");
}

TEST_CASE("Opsets that models can be written for are named") {
  ExportOptions options;
  options.opset = 9;
  CHECK_THROWS_WITH(exported("graph functional f(%x: f32[2]) {\n  return %x\n}\n", options),
                    "opset 9 is none of 13 to 23");
}

TEST_CASE("Operators that an opset lacks are written by others, by a body, or not at all") {
  const auto at = [](const std::string& type, const std::string& application, int opset) {
    ExportOptions options;
    options.opset = opset;
    return exported(
        "graph functional f(%x: " + type + ") {\n  %y = " + application + " : " + type + "\n  return %y\n}\n",
        options);
  };
  const auto nodes_at = [&](const std::string& type, const std::string& application, int opset) {
    return operators(at(type, application, opset).model.graph.nodes);
  };
  CHECK(nodes_at("f32[2, 3]", "layer_norm(%x, none, none, normalized_shape=[3], eps=1e-05)", 16) ==
        "layer_norm");
  CHECK(nodes_at("f32[2, 3]", "layer_norm(%x, none, none, normalized_shape=[3], eps=1e-05)", 17) ==
        "Expand Expand LayerNormalization");
  CHECK(nodes_at("f64[2, 3]", "layer_norm(%x, none, none, normalized_shape=[3], eps=1e-05)", 17) ==
        "layer_norm");
  CHECK(nodes_at("f32[2, 4, 3]", "group_norm(%x, none, none, num_groups=2, eps=1e-05)", 20) == "group_norm");
  CHECK(nodes_at("f32[2, 4, 3]", "group_norm(%x, none, none, num_groups=2, eps=1e-05)", 21) ==
        "Expand Expand GroupNormalization");
  const std::string convolved = "conv1d(%x, %x, none, stride=[1], padding=[1], dilation=[1], groups=1)";
  CHECK(nodes_at("f32[3, 3, 3]", convolved, 13) == "Conv");
  CHECK(nodes_at("f32[2, 3]", "tril(%x, diagonal=0)", 13) == "Range Unsqueeze Range Sub LessOrEqual Where");
  CHECK(nodes_at("f32[2, 3]", "tril(%x, diagonal=0)", 14) == "Trilu");
  const Export refused = at("i64[2]", "bitwise_and(%x, %x)", 17);
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].reason ==
        "'bitwise_and' is written with BitwiseAnd, which opset 18 has: ask for one");
}

}  // namespace kiln::export_test
