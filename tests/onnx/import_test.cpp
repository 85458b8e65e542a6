// Models made here as records and imported: values, weights, symbols, control flow, and what is refused.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "jit/autodiff/gradient_graphs.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "onnx/import/import.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

using namespace kiln;
using namespace kiln::onnx;

namespace {

Tensor floats(const Dims& sizes, const std::vector<float>& elements) {
  const Tensor made = Tensor::empty(sizes, DType::F32, Device{});
  const WritableHostView memory(made);
  std::copy(elements.begin(), elements.end(), memory.as<float>());
  return made;
}

std::vector<float> elements(const Tensor& x) {
  const HostView view(x, DType::F32);
  return {view.as<float>(), view.as<float>() + x.numel().known()};
}

TensorProto weight(const std::string& name, const std::vector<std::int64_t>& dims,
                   const std::vector<float>& values) {
  TensorProto proto;
  proto.name = name;
  proto.type = ElementType::Float;
  proto.dims = dims;
  proto.floats = values;
  return proto;
}

TensorProto numbers(const std::string& name, const std::vector<std::int64_t>& values) {
  TensorProto proto;
  proto.name = name;
  proto.type = ElementType::Int64;
  proto.dims = {static_cast<std::int64_t>(values.size())};
  proto.int64s = values;
  return proto;
}

ValueInfo value(const std::string& name, std::vector<Dimension> sizes,
                ElementType type = ElementType::Float) {
  ValueInfo info;
  info.name = name;
  info.type.kind = TypeProto::Kind::Tensor;
  info.type.element = type;
  info.type.shape = std::move(sizes);
  return info;
}

Dimension size(std::int64_t number) { return {number, ""}; }
Dimension open_size(const std::string& name) { return {std::nullopt, name}; }

NodeProto node(const std::string& type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<AttributeProto> attributes = {}) {
  NodeProto made;
  made.op_type = type;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.attributes = std::move(attributes);
  return made;
}

ModelProto model(std::vector<ValueInfo> inputs, std::vector<NodeProto> nodes, const std::string& output) {
  ModelProto made;
  made.ir_version = 9;
  made.opsets = {{"", 20}};
  made.graph.name = "g";
  made.graph.inputs = std::move(inputs);
  made.graph.nodes = std::move(nodes);
  made.graph.outputs = {value(output, {})};
  return made;
}

// x [n, 2] times a weight and a bias.
ModelProto linear_model() {
  ModelProto made = model({value("x", {open_size("n"), size(2)})},
                          {node("Gemm", {"x", "w", "b"}, {"h"}), node("Relu", {"h"}, {"y"})}, "y");
  made.graph.initializers = {weight("w", {2, 2}, {1, 2, 3, 4}), weight("b", {2}, {0.5F, -100})};
  return made;
}

std::string refusal(const ModelProto& given, const ImportOptions& options = {}) {
  try {
    import_model(given, options);
  } catch (const OpError& error) {
    return error.message();
  }
  return "nothing is refused";
}

Tensors run(const Imported& made, std::initializer_list<Tensor> arguments) {
  std::vector<Tensor> all(arguments);
  for (const Tensor& each : made.weights) {
    if (each) all.push_back(each);
  }
  return jit::evaluate(made.graph, all);
}

}  // namespace

TEST_CASE("a model is a graph with weights by name, whose open sizes are symbols", "[onnx]") {
  const Imported made = import_model(linear_model(), {});
  CHECK(jit::find_fault(made.graph).empty());
  REQUIRE(made.graph.inputs.size() == 3);
  CHECK(made.graph.inputs[1].role == jit::Role::Parameter);
  CHECK(made.graph.values[1].name == "w");
  CHECK(jit::to_string(made.graph.values[0].type) == "f32[n, 2]");
  CHECK(jit::parse_graph(jit::print_graph(made.graph)) == made.graph);
  for (const std::int64_t rows : {1, 3}) {
    const Tensor x = ops::ones(Dims{rows, 2}, DType::F32, Device{});
    const std::vector<float> y = elements(run(made, {x})[0]);
    REQUIRE(y.size() == static_cast<std::size_t>(2 * rows));
    CHECK(y[0] == 4.5F);
    CHECK(y[1] == 0);
  }
}

TEST_CASE("the joint graph of an imported model has gradients of its weights", "[onnx]") {
  const Imported made = import_model(linear_model(), {});
  const jit::GradientGraphs gradients = jit::gradient_graphs(made.graph, {false, true, true}, {});
  CHECK(gradients.joint.graph.outputs.size() == 3);
}

TEST_CASE("shapes that a model computes fold to numbers and symbols", "[onnx]") {
  ModelProto given =
      model({value("x", {open_size("n"), size(2), size(3)})},
            {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
             node("Concat", {"n", "minus"}, {"to"}, {AttributeProto::of("axis", std::int64_t{0})}),
             node("Reshape", {"x", "to"}, {"y"})},
            "y");
  given.graph.initializers = {numbers("zero", {0}), numbers("minus", {-1})};
  const Imported made = import_model(given, {});
  CHECK(made.graph.nodes.size() == 1);
  CHECK(jit::to_string(made.graph.values.back().type) == "f32[n, 6]");
  ImportOptions options;
  options.sizes = {{"n", 5}};
  CHECK(jit::to_string(import_model(given, options).graph.values.back().type) == "f32[5, 6]");
}

TEST_CASE("loops on constants unroll, and branches on constants are chosen", "[onnx]") {
  GraphProto body;
  body.inputs = {value("i", {}, ElementType::Int64), value("c", {}, ElementType::Bool),
                 value("a", {size(2)})};
  body.nodes = {node("Identity", {"c"}, {"d"}), node("Add", {"a", "a"}, {"b"})};
  body.outputs = {value("d", {}), value("b", {}), value("b", {})};
  ModelProto given =
      model({value("x", {size(2)})},
            {node("Loop", {"three", "", "x"}, {"y", "all"}, {AttributeProto::of("body", body)})}, "y");
  given.graph.outputs.push_back(value("all", {}));
  given.graph.initializers = {numbers("three", {3})};
  const Imported made = import_model(given, {});
  const Tensors results = run(made, {floats({2}, {1, 2})});
  CHECK(elements(results[0]) == std::vector<float>{8, 16});
  CHECK(elements(results[1]) == std::vector<float>{2, 4, 4, 8, 8, 16});
}

TEST_CASE("functions of a model are inlined, with the attributes of their callers", "[onnx]") {
  ModelProto given =
      model({value("x", {size(2)})}, {node("Leak", {"x"}, {"y"}, {AttributeProto::of("slope", 0.5F)})}, "y");
  given.graph.nodes[0].domain = "own";
  FunctionProto function;
  function.name = "Leak";
  function.domain = "own";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opsets = {{"", 20}};
  function.attributes = {"slope"};
  AttributeProto reference;
  reference.name = "alpha";
  reference.reference = "slope";
  function.nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference})};
  given.functions = {function};
  CHECK(elements(run(import_model(given, {}), {floats({2}, {-4, 2})})[0]) == std::vector<float>{-2, 2});
  given.functions[0].nodes = {node("Leak", {"a"}, {"b"})};
  given.functions[0].nodes[0].domain = "own";
  CHECK(refusal(given) == "own.Leak: graphs and functions of the model call each other beyond 64 levels");
}

TEST_CASE("what an import refuses is one sentence", "[onnx]") {
  const auto of = [](std::vector<NodeProto> nodes) {
    return model({value("x", {size(2)})}, std::move(nodes), "y");
  };
  CHECK(refusal(of({node("Foo", {"x"}, {"a"}), node("Foo", {"a"}, {"b"}), node("Bar", {"b"}, {"y"})})) ==
        "the model has operators that Kiln does not know: Foo (2 times), Bar");
  CHECK(refusal(of({node("Relu", {"z"}, {"y"})})) == "Relu: no node before it gives its input 'z'");
  CHECK(refusal(of({node("Relu", {"x"}, {"z"})})) == "no node gives the output 'y' of the graph 'g'");
  CHECK(refusal(of({node("NonZero", {"x"}, {"y"})})) ==
        "NonZero: the size of a result of nonzero depends on data: they follow the input 'x'");
  ModelProto huge = of({node("ConstantOfShape", {"n"}, {"y"})});
  huge.graph.initializers = {numbers("n", {1'000'000'000'000})};
  CHECK(refusal(huge).find("takes more memory than an import may") != std::string::npos);
  ModelProto wrong = linear_model();
  wrong.graph.initializers[0].dims = {1'000'000, 1'000'000};
  CHECK(refusal(wrong).find("the tensor 'w' has 4 bytes or elements") != std::string::npos);
}

TEST_CASE("data beside a model is read from its folder alone", "[onnx]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("kiln_onnx_" + std::to_string(::getpid()));
  fs::create_directories(root / "model");
  const std::vector<float> values{1, 2, 3, 4};
  for (const fs::path& path : {root / "model" / "data", root / "outside"})
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 16);
  fs::create_symlink(root / "outside", root / "model" / "link");
  const auto given_at = [&](const std::string& location, const std::string& offset) {
    ModelProto given = linear_model();
    TensorProto& w = given.graph.initializers[0];
    w.floats.clear();
    w.is_external = true;
    w.external = {{"location", location}, {"offset", offset}};
    return given;
  };
  ImportOptions options;
  options.external.folder = root / "model";
  const Imported made = import_model(given_at("data", "0"), options);
  CHECK(elements(made.weights[1]) == values);
  CHECK(refusal(given_at("../outside", "0"), options).find("outside of the folder") != std::string::npos);
  CHECK(refusal(given_at("link", "0"), options).find("outside of the folder") != std::string::npos);
  CHECK(refusal(given_at((root / "model" / "data").string(), "0"), options).find("outside of the folder") !=
        std::string::npos);
  CHECK(refusal(given_at("data", "4"), options).find("needs 16 bytes from byte 4") != std::string::npos);
  CHECK(refusal(given_at("nothing", "0"), options).find("is not in the folder") != std::string::npos);
  CHECK(refusal(given_at("data", "0")).find("a model that is no file has no folder") != std::string::npos);
  fs::remove_all(root);
}
