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
#include "tests/onnx/records.h"

namespace kiln::import_test {

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

ModelProto model(std::vector<ValueInfo> inputs, std::vector<NodeProto> nodes, const std::string& output) {
  return model_record(std::move(inputs), std::move(nodes), {value_record(output, {})});
}

// x [n, 2] times a weight and a bias.
ModelProto linear_model() {
  ModelProto made =
      model({value_record("x", {open_size("n"), size(2)})},
            {node_record("Gemm", {"x", "w", "b"}, {"h"}), node_record("Relu", {"h"}, {"y"})}, "y");
  made.graph.initializers = {floats_record("w", {2, 2}, {1, 2, 3, 4}), floats_record("b", {2}, {0.5F, -100})};
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
      model({value_record("x", {open_size("n"), size(2), size(3)})},
            {node_record("Shape", {"x"}, {"s"}), node_record("Gather", {"s", "zero"}, {"n"}),
             node_record("Concat", {"n", "minus"}, {"to"}, {AttributeProto::of("axis", std::int64_t{0})}),
             node_record("Reshape", {"x", "to"}, {"y"})},
            "y");
  given.graph.initializers = {ints_record("zero", {0}), ints_record("minus", {-1})};
  const Imported made = import_model(given, {});
  CHECK(made.graph.nodes.size() == 1);
  CHECK(jit::to_string(made.graph.values.back().type) == "f32[n, 6]");
  ImportOptions options;
  options.sizes = {{"n", 5}};
  CHECK(jit::to_string(import_model(given, options).graph.values.back().type) == "f32[5, 6]");
}

TEST_CASE("loops on constants unroll, and branches on constants are chosen", "[onnx]") {
  GraphProto body;
  body.inputs = {value_record("i", {}, ElementType::Int64), value_record("c", {}, ElementType::Bool),
                 value_record("a", {size(2)})};
  body.nodes = {node_record("Identity", {"c"}, {"d"}), node_record("Add", {"a", "a"}, {"b"})};
  body.outputs = {value_record("d", {}), value_record("b", {}), value_record("b", {})};
  ModelProto given =
      model({value_record("x", {size(2)})},
            {node_record("Loop", {"three", "", "x"}, {"y", "all"}, {AttributeProto::of("body", body)})}, "y");
  given.graph.outputs.push_back(value_record("all", {}));
  given.graph.initializers = {ints_record("three", {3})};
  const Imported made = import_model(given, {});
  const Tensors results = run(made, {floats({2}, {1, 2})});
  CHECK(elements(results[0]) == std::vector<float>{8, 16});
  CHECK(elements(results[1]) == std::vector<float>{2, 4, 4, 8, 8, 16});
}

TEST_CASE("functions of a model are inlined, with the attributes of their callers", "[onnx]") {
  ModelProto given = model({value_record("x", {size(2)})},
                           {node_record("Leak", {"x"}, {"y"}, {AttributeProto::of("slope", 0.5F)})}, "y");
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
  function.nodes = {node_record("LeakyRelu", {"a"}, {"b"}, {reference})};
  given.functions = {function};
  CHECK(elements(run(import_model(given, {}), {floats({2}, {-4, 2})})[0]) == std::vector<float>{-2, 2});
  given.functions[0].nodes = {node_record("Leak", {"a"}, {"b"})};
  given.functions[0].nodes[0].domain = "own";
  CHECK(refusal(given) == "own.Leak: graphs and functions of the model call each other beyond 64 levels");
}

TEST_CASE("what an import refuses is one sentence", "[onnx]") {
  const auto of = [](std::vector<NodeProto> nodes) {
    return model({value_record("x", {size(2)})}, std::move(nodes), "y");
  };
  CHECK(refusal(of({node_record("Foo", {"x"}, {"a"}), node_record("Foo", {"a"}, {"b"}),
                    node_record("Bar", {"b"}, {"y"})})) ==
        "the model has operators that Kiln does not know: Foo (2 times), Bar");
  CHECK(refusal(of({node_record("Relu", {"z"}, {"y"})})) == "Relu: no node before it gives its input 'z'");
  CHECK(refusal(of({node_record("Relu", {"x"}, {"z"})})) == "no node gives the output 'y' of the graph 'g'");
  CHECK(refusal(of({node_record("NonZero", {"x"}, {"y"})})) ==
        "NonZero: the size of a result of nonzero depends on data: they follow the input 'x'");
  ModelProto huge = of({node_record("ConstantOfShape", {"n"}, {"y"})});
  huge.graph.initializers = {ints_record("n", {1'000'000'000'000})};
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

}  // namespace kiln::import_test
