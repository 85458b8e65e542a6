// Models as bytes and back: every field, both forms of repeated numbers, and bytes that are no model.
#include <catch2/catch.hpp>

#include "onnx/proto/model.h"
#include "tensor/error.h"

namespace kiln::proto_test {

using namespace kiln::onnx;

namespace {

TensorProto small_tensor() {
  TensorProto tensor;
  tensor.name = "w";
  tensor.type = ElementType::Float;
  tensor.dims = {2, 1};
  tensor.raw = std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  tensor.has_raw = true;
  return tensor;
}

GraphProto small_graph() {
  GraphProto graph;
  graph.name = "g";
  graph.initializers = {small_tensor()};
  TypeProto type;
  type.kind = TypeProto::Kind::Tensor;
  type.element = ElementType::Float;
  type.shape = std::vector<Dimension>{{2, ""}, {std::nullopt, "n"}, {std::nullopt, ""}};
  TypeProto sequence;
  sequence.kind = TypeProto::Kind::Sequence;
  sequence.inner = {type};
  graph.inputs = {{"x", type, "what comes in"}, {"s", sequence, ""}};
  NodeProto node;
  node.op_type = "Concat";
  node.name = "line 3";
  node.inputs = {"x", "", "w"};
  node.outputs = {"y"};
  node.attributes = {AttributeProto::of("axis", std::int64_t{-1}),
                     AttributeProto::of("to", 2.5F),
                     AttributeProto::of("mode", std::string("linear")),
                     AttributeProto::of("pads", std::vector<std::int64_t>{0, -3, 1LL << 40}),
                     AttributeProto::of("scales", std::vector<float>{0.5F, -1}),
                     AttributeProto::of("value", small_tensor())};
  node.metadata = {{"kiln.line", "3"}};
  graph.nodes = {node};
  graph.outputs = {{"y", type, ""}};
  return graph;
}

ModelProto small_model() {
  ModelProto model;
  model.ir_version = 9;
  model.producer = "kiln";
  model.opsets = {{"", 20}, {"kiln.ops", 1}};
  model.graph = small_graph();
  NodeProto branch;
  branch.op_type = "If";
  branch.attributes = {AttributeProto::of("then_branch", small_graph())};
  model.graph.nodes.push_back(branch);
  FunctionProto function;
  function.name = "f";
  function.domain = "kiln.ops";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.attributes = {"alpha"};
  function.opsets = {{"", 20}};
  function.nodes = small_graph().nodes;
  model.functions = {function};
  return model;
}

// A model of one attribute that holds a graph that holds such an attribute, and so on.
GraphProto nested(int levels) {
  GraphProto graph;
  for (int i = 0; i < levels; ++i) {
    GraphProto outer;
    NodeProto node;
    node.attributes = {AttributeProto::of("body", std::move(graph))};
    outer.nodes.push_back(std::move(node));
    graph = std::move(outer);
  }
  return graph;
}

}  // namespace

TEST_CASE("A model that was written is read with every field", "[proto]") {
  const ModelProto model = read_model(write_model(small_model()));
  CHECK(model.ir_version == 9);
  CHECK(model.producer == "kiln");
  CHECK(model.opset("") == 20);
  CHECK(model.opset("ai.onnx") == 20);
  CHECK(model.opset("kiln.ops") == 1);
  CHECK_FALSE(model.opset("other").has_value());
  REQUIRE(model.graph.nodes.size() == 2);
  const NodeProto& node = model.graph.nodes[0];
  CHECK(node.inputs == std::vector<std::string>{"x", "", "w"});
  CHECK(node.find("axis")->i == -1);
  CHECK(node.find("to")->f == 2.5F);
  CHECK(node.find("mode")->s == "linear");
  CHECK(node.find("pads")->ints == std::vector<std::int64_t>{0, -3, 1LL << 40});
  CHECK(node.find("scales")->floats == std::vector<float>{0.5F, -1});
  CHECK(node.find("value")->tensors.at(0).raw == small_tensor().raw);
  CHECK(node.find("missing") == nullptr);
  CHECK(node.metadata.at(0).second == "3");
  CHECK(model.graph.nodes[1].find("then_branch")->graphs.at(0).nodes.size() == 1);
  const TypeProto& type = model.graph.inputs.at(0).type;
  REQUIRE(type.shape);
  CHECK(type.shape->at(0).value == 2);
  CHECK(type.shape->at(1).symbol == "n");
  CHECK_FALSE(type.shape->at(2).value.has_value());
  CHECK(model.graph.inputs.at(1).type.inner.at(0).element == ElementType::Float);
  CHECK(model.functions.at(0).attributes == std::vector<std::string>{"alpha"});
  CHECK(write_model(model) == write_model(small_model()));
}

TEST_CASE("Numbers of a repeated field are read one by one, too", "[proto]") {
  // dims 2, 3 as two fields of their own, float_data 1.0 likewise.
  const TensorProto tensor = read_tensor(std::string("\x08\x02\x08\x03\x25\x00\x00\x80\x3f", 9));
  CHECK(tensor.dims == std::vector<std::int64_t>{2, 3});
  CHECK(tensor.floats == std::vector<float>{1});
}

TEST_CASE("Bytes that are no model are refused in words", "[proto]") {
  const std::string bytes = write_model(small_model());
  CHECK_THROWS_WITH(read_model(bytes.substr(0, bytes.size() - 3)), Catch::Contains("cut short"));
  CHECK_THROWS_AS(read_model("hello, this is a text"), OpError);
  // The graph as a number, the version of the format as a text, a float as a varint.
  CHECK_THROWS_WITH(read_model(std::string("\x38\x01", 2)), Catch::Contains("of a form"));
  CHECK_THROWS_WITH(read_model(std::string("\x0a\x01x", 3)), Catch::Contains("of a form"));
  CHECK_THROWS_WITH(read_tensor(std::string("\x20\x01", 2)), Catch::Contains("of a form"));
  ModelProto deep;
  deep.graph = nested(70);
  CHECK_THROWS_WITH(read_model(write_model(deep)), Catch::Contains("beyond 200 levels"));
  deep.graph = nested(50);
  CHECK(read_model(write_model(deep)).graph.nodes.size() == 1);
}

}  // namespace kiln::proto_test
