// Functions with derivatives of their own in models: every attribute of PythonOp and PythonOpGrad, and the
// portable form.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "jit/autodiff/differentiate.h"
#include "jit/graph/text.h"
#include "jit/passes/run_recipe.h"
#include "onnx/export/constant_text.h"
#include "onnx/export/export.h"
#include "onnx/export/python_op.h"

namespace kiln::python_op_test {

using namespace kiln::onnx;
using jit::HostTuple;
using jit::HostValue;

namespace {

constexpr std::string_view kText = R"(graph forward Scale(%x: f32[3, 2], %k: i64[3]) {
  %s = sigmoid(%x) : f32[3, 2]
  %kept = detach(%s) : f32[3, 2]
  %i = add(%k, 1) : i64[3]
  return %s, %i, %kept
  save %kept
}
graph backward Scale(saved %s: f32[3, 2], grad %g: f32[3, 2]) {
  %0 = mul(%g, %s) : f32[3, 2]
  return %0, none
}
graph functional f(%x: f32[3, 2], %k: i64[3]) {
  %a, %i, %kept = Scale(%x, %k) : f32[3, 2], i64[3], f32[3, 2]
  %c = cos(%a) : f32[3, 2]
  %d, %j, %kept2 = Scale(%c, %i) : f32[3, 2], i64[3], f32[3, 2]
  return %d
}
)";

jit::CallPlace constant(std::string name, HostValue value) { return {std::move(name), std::move(value)}; }
jit::CallPlace tensor(std::string name) { return {std::move(name), std::nullopt}; }

// All kinds between tensors, out of order.
jit::ProgramCall mixed_call() {
  jit::ProgramCall call;
  call.qualified_name = "layers.Scale";
  call.arguments = {constant("flag", true),
                    tensor("x"),
                    constant("n", std::int64_t{-7}),
                    constant("rate", 0.1),
                    constant("flags", HostTuple{{false, true}}),
                    constant("sizes", HostTuple{{std::int64_t{2}, std::int64_t{3}}}),
                    tensor("k"),
                    constant("betas", HostTuple{{0.9, 0.999}}),
                    constant("empty", HostTuple{}),
                    constant("mixed", HostTuple{{true, std::int64_t{2}}}),
                    constant("mode", std::string("tanh")),
                    constant("pads", HostTuple{{std::int64_t{5}}}),
                    constant("nothing", std::monostate{}),
                    constant("group", jit::HostObject{"Group", "workers", nullptr})};
  call.results = {tensor(""), tensor("")};
  call.requires_grads.assign(call.arguments.size(), false);
  return call;
}

jit::Graph graph_of(jit::ProgramCall call) {
  jit::Graph graph = jit::parse_graph(kText);
  jit::CustomFunction function = *jit::custom_function(*graph.nodes[0].op);
  function.program_call = std::make_shared<const jit::ProgramCall>(std::move(call));
  const auto op = jit::make_custom_op(std::move(function));
  const auto ops_before = std::exchange(graph.own_ops, {op});  // nodes still name them
  for (jit::Node& node : graph.nodes) {
    if (!node.is_constant() && jit::custom_function(*node.op) != nullptr) node.op = op.get();
  }
  return graph;
}

const jit::CustomFunction& function_of(const jit::Graph& graph) {
  return *jit::custom_function(*graph.nodes[0].op);
}

using Ints = std::vector<std::int64_t>;
const Ints& ints(const NodeProto& node, std::string_view name) {
  INFO(name);
  const AttributeProto* attribute = node.find(name);
  REQUIRE(attribute != nullptr);
  return attribute->ints;
}
std::string text(const NodeProto& node, std::string_view name) { return node.find(name)->s; }

std::vector<std::string> names(const NodeProto& node) {
  std::vector<std::string> all;
  for (const AttributeProto& each : node.attributes) all.push_back(each.name);
  std::ranges::sort(all);
  return all;
}

std::vector<NodeProto> nodes_of(const ModelProto& model, std::string_view type) {
  std::vector<NodeProto> found;
  std::ranges::copy_if(model.graph.nodes, std::back_inserter(found),
                       [type](const NodeProto& each) { return each.op_type == type; });
  return found;
}

jit::Graph joint_of(const jit::Graph& graph) {
  const jit::KeptBackward kept;
  return jit::run_recipe(jit::recipes::kNeeded, jit::differentiate(graph, {true, false}).graph);
}

Export exported(const jit::Graph& graph, CustomForm form) {
  ExportOptions options;
  options.custom = form;
  Export made = export_graph(graph, std::vector<Tensor>(graph.inputs.size()), options);
  for (const ExportProblem& each : made.problems) FAIL_CHECK(each.reason);
  return made;
}

}  // namespace

TEST_CASE("a PythonOp has every argument in its place", "[python_op]") {
  const jit::Graph graph = graph_of(mixed_call());
  const NodeProto node = python_op(function_of(graph), {true, {true, false}, "model.kiln:3"});
  CHECK(node.op_type == "PythonOp");
  CHECK(node.domain == "com.microsoft");
  CHECK(text(node, "func_name") == "layers.Scale");
  CHECK(text(node, "input_convention") == "cdccccdccccccc");
  CHECK(text(node, "comment") == "model.kiln:3");
  CHECK(ints(node, "input_requires_grads") == Ints{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(ints(node, "input_tensor_types") == Ints{1, 7});
  CHECK(ints(node, "input_tensor_ranks") == Ints{2, 1});
  CHECK(ints(node, "output_tensor_types") == Ints{1, 7});
  CHECK(ints(node, "output_tensor_ranks") == Ints{2, 1});
  CHECK(node.find("training_mode")->i == 1);
  CHECK(node.find("safe_run_mode")->i == 1);
  CHECK(ints(node, "tensor_reuse_map") == Ints{-1, -1, -1});
  CHECK(ints(node, "bw_tensor_reuse_map") == Ints{-1, -1});
  CHECK(ints(node, "input_bool_scalars") == Ints{1});
  CHECK(ints(node, "input_bool_scalar_positions") == Ints{0});
  CHECK(ints(node, "input_int_scalars") == Ints{-7});
  CHECK(ints(node, "input_int_scalar_positions") == Ints{2});
  CHECK(node.find("input_float_scalars")->floats == std::vector<float>{0.1F});
  CHECK(ints(node, "input_float_scalar_positions") == Ints{3});
  CHECK(ints(node, "input_bool_tuples") == Ints{0, 1});
  CHECK(ints(node, "input_bool_tuple_positions") == Ints{4});
  CHECK(ints(node, "input_bool_tuple_begins") == Ints{0});
  CHECK(ints(node, "input_int_tuples") == Ints{2, 3, 5});
  CHECK(ints(node, "input_int_tuple_positions") == Ints{5, 11});
  CHECK(ints(node, "input_int_tuple_begins") == Ints{0, 2});
  CHECK(node.find("input_float_tuples")->floats == std::vector<float>{0.9F, 0.999F});
  CHECK(ints(node, "input_float_tuple_positions") == Ints{7});
  CHECK(ints(node, "input_float_tuple_begins") == Ints{0});
  CHECK(ints(node, "input_pointer_scalars") == Ints{0, 0, 0, 0, 0});
  CHECK(ints(node, "input_pointer_scalar_positions") == Ints{8, 9, 10, 12, 13});
  CHECK(node.find("__kiln_pointers")->strings ==
        std::vector<std::string>{"t0:", "t2:b1i2;", "s4:tanh", "n", "o7:workers"});
  CHECK(node.find("__kiln_float_scalars")->tensors[0].doubles == std::vector<double>{0.1});
  CHECK(node.find("__kiln_float_tuples")->tensors[0].doubles == std::vector<double>{0.9, 0.999});
  CHECK(node.find("__kiln_arguments")->strings.size() == 14);
}

TEST_CASE("a PythonOp has attributes for the kinds that there are", "[python_op]") {
  jit::ProgramCall call;
  call.qualified_name = "Scale";
  call.arguments = {tensor("x"), tensor("k")};
  call.results = {tensor(""), constant("", std::string("kept on the host")), tensor("")};
  call.requires_grads = {false, false};
  const NodeProto node = python_op(function_of(graph_of(call)), {false, {false, false}, ""});
  CHECK(names(node) == std::vector<std::string>{"__kiln_arguments", "bw_tensor_reuse_map", "comment",
                                                "func_name", "input_convention", "input_requires_grads",
                                                "input_tensor_ranks", "input_tensor_types",
                                                "output_tensor_ranks", "output_tensor_types", "safe_run_mode",
                                                "tensor_reuse_map", "training_mode"});
  CHECK(node.find("training_mode")->i == 0);
  CHECK(ints(node, "output_tensor_types") == Ints{1, 7});
}

TEST_CASE("a PythonOpGrad is what the runtime makes of a PythonOp", "[python_op]") {
  const jit::Graph graph = graph_of(mixed_call());
  const NodeProto node = python_op_grad(function_of(graph), {true, {true, false}, "model.kiln:3"});
  CHECK(names(node) == std::vector<std::string>{"comment", "func_name", "input_tensor_ranks",
                                                "input_tensor_types", "output_convention",
                                                "output_tensor_ranks", "output_tensor_requires_grads",
                                                "output_tensor_types", "safe_run_mode", "tensor_reuse_map"});
  CHECK(text(node, "output_convention") == "cdccccdccccccc");
  CHECK(ints(node, "input_tensor_types") == Ints{1, 7});
  CHECK(ints(node, "output_tensor_requires_grads") == Ints{1, 0});
  CHECK(ints(node, "tensor_reuse_map") == Ints{-1, -1});
}

TEST_CASE("hooks say what memory results take over, and are held to their word", "[python_op]") {
  jit::ProgramCall call = mixed_call();
  call.alias_input = [](const jit::HookNode& node) {
    CHECK(node.arguments.size() == 14);
    jit::AliasMaps maps{{1, -1}, Ints(14, -1)};
    maps.backward[1] = 0;
    return maps;
  };
  const NodeProto node = python_op(function_of(graph_of(call)), {true, {true, false}, ""});
  CHECK(ints(node, "tensor_reuse_map") == Ints{-1, 0, -1});
  CHECK(ints(node, "bw_tensor_reuse_map") == Ints{1, -1});
  call.alias_input = [](const jit::HookNode&) { return jit::AliasMaps{{0, -1}, Ints(14, -1)}; };
  CHECK_THROWS_WITH(python_op(function_of(graph_of(call)), {}),
                    Catch::Contains("layers.Scale.alias_input names argument 0, which is no tensor"));
  call.alias_input = nullptr;
  call.infer_shape = [](const jit::HookNode&, const std::vector<jit::HookType>& given) {
    return std::vector<jit::HookType>{given[0], given[0]};
  };
  CHECK_THROWS_WITH(python_op(function_of(graph_of(call)), {}),
                    Catch::Contains("layers.Scale.infer_shape says f32[3, 2] for result 1, and forward gives "
                                    "i64[3]"));
  call.infer_shape = [](const jit::HookNode&, const std::vector<jit::HookType>& given) { return given; };
  const NodeProto told = python_op(function_of(graph_of(call)), {});
  const std::vector<std::string>& constants = told.find(kShapeConstants)->strings;
  REQUIRE(constants.size() == call.arguments.size());
  CHECK(read_constant(constants[3]) == call.arguments[3].value);
  CHECK(constants[1].empty());
}

TEST_CASE("what no attribute can hold is told by argument", "[python_op]") {
  jit::ProgramCall call = mixed_call();
  call.arguments[13] = constant("group", jit::HostObject{"list of 3", "", nullptr});
  CHECK_THROWS_WITH(python_op(function_of(graph_of(call)), {}),
                    Catch::Contains("argument `group` of layers.Scale is a list of 3"));
  const jit::Graph read = jit::parse_graph(kText);
  CHECK_THROWS_WITH(python_op(function_of(read), {}), Catch::Contains("was read from text"));
}

TEST_CASE("host values are texts and back, to the bit", "[python_op]") {
  const HostValue all = HostTuple{{0.1, -0.0, std::int64_t{-3}, std::string("a;b:\"\0\"", 7), true,
                                   HostTuple{}, std::monostate{}, jit::HostObject{"", "group", nullptr}}};
  CHECK(read_constant(constant_text(all)) == all);
  CHECK(std::signbit(std::get<double>(read_constant(constant_text(HostValue(-0.0))))));
  for (const std::string_view wrong : {"", "x", "i5", "s9:abc", "t2:n", "nn", "t99999999999:n", "f;"})
    CHECK_THROWS_AS(read_constant(wrong), OpError);
}

TEST_CASE("a step with gradients has a PythonOp and a PythonOpGrad for each application", "[python_op]") {
  const ModelProto model = exported(joint_of(graph_of(mixed_call())), CustomForm::PythonOp).model;
  const auto forward = nodes_of(model, "PythonOp"), backward = nodes_of(model, "PythonOpGrad");
  REQUIRE(forward.size() == 2);
  REQUIRE(backward.size() == 2);
  for (const NodeProto& each : forward) {
    CHECK(each.inputs.size() == 2);
    CHECK(each.outputs.size() == 3);
    CHECK(each.find("training_mode")->i == 1);
  }
  CHECK(forward[0].outputs[0] != forward[1].outputs[0]);
  CHECK(backward[0].inputs[0] == forward[1].outputs[0]);
  CHECK(backward[1].inputs[0] == forward[0].outputs[0]);
  for (const NodeProto& each : backward) {
    CHECK(each.inputs.size() == 3);
    CHECK(each.inputs[2].empty());
    REQUIRE(each.outputs.size() == 2);
    CHECK_FALSE(each.outputs[0].empty());
    CHECK(each.outputs[1].empty());
  }
}

TEST_CASE("the portable form has one local function for equal applications", "[python_op]") {
  const ModelProto model = exported(joint_of(graph_of(mixed_call())), CustomForm::Function).model;
  REQUIRE(model.functions.size() == 2);
  CHECK(nodes_of(model, "Scale").size() == 2);
  CHECK(nodes_of(model, "Scale_backward").size() == 2);
  const ModelProto inlined = exported(joint_of(graph_of(mixed_call())), CustomForm::Inline).model;
  CHECK(inlined.functions.empty());
}

}  // namespace kiln::python_op_test
