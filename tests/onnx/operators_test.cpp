// Operators of models whose results can be told by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "jit/graph/evaluate.h"
#include "onnx/import/import.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tests/onnx/records.h"

namespace kiln::operators_test {

using namespace kiln::onnx;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

struct Given {
  std::string name;
  std::vector<std::int64_t> sizes;
  Floats values;
};

Tensor tensor_of(const Given& given) {
  return to_tensor(floats_record(given.name, given.sizes, given.values), {});
}

// A model of one node over these inputs, whose outputs are y and z.
ModelProto model_of(const NodeProto& node, const std::vector<Given>& inputs) {
  std::vector<ValueInfo> values;
  for (const Given& each : inputs) {
    std::vector<Dimension> sizes;
    for (const std::int64_t count : each.sizes) sizes.push_back(size(count));
    values.push_back(value_record(each.name, sizes));
  }
  std::vector<ValueInfo> results;
  for (const std::string& each : node.outputs) results.push_back(value_record(each, {}));
  ModelProto made = model_record(values, {node}, results);
  made.opsets.push_back({"ai.onnx.ml", 3});
  made.opsets.push_back({"com.microsoft", 1});
  return made;
}

std::vector<Tensor> tensors_of(const std::vector<Given>& inputs) {
  std::vector<Tensor> all;
  for (const Given& each : inputs) all.push_back(tensor_of(each));
  return all;
}

// What the graph of the model gives, which its nodes give one by one, too.
Tensors results_of(const ModelProto& model, const std::vector<Given>& inputs) {
  const std::vector<Tensor> arguments = tensors_of(inputs);
  const Imported made = import_model(model, {});
  std::vector<Tensor> all = arguments;
  for (const Tensor& each : made.weights) {
    if (each) all.push_back(each);
  }
  Tensors results = jit::evaluate(made.graph, all);
  const Values eager = run_model(model, Values(arguments.begin(), arguments.end()), {});
  for (std::size_t k = 0; k < results.size(); ++k) {
    REQUIRE(eager[k].tensor.type() == results[k].type());
    const Tensor differs = ops::any(ops::ne(eager[k].tensor, results[k]));
    CHECK_FALSE(differs.item_bool());
  }
  return results;
}

Floats floats(const Tensor& x) {
  const HostView view(x, DType::F32);
  return {view.as<float>(), view.as<float>() + x.numel().known()};
}
Ints ints(const Tensor& x) {
  const HostView view(x, DType::I64);
  return {view.as<std::int64_t>(), view.as<std::int64_t>() + x.numel().known()};
}

NodeProto ml_node(const std::string& type, std::vector<std::string> outputs,
                  std::vector<AttributeProto> attributes) {
  NodeProto node = node_record(type, {"x"}, std::move(outputs), std::move(attributes));
  node.domain = "ai.onnx.ml";
  return node;
}

// x < 1 ? (y <= 5 ? 1 : 2) : 4, for both targets in turn, and a second tree that adds 10 to the first.
std::vector<AttributeProto> two_trees(const std::string& kind) {
  const auto of = [](const char* name, auto value) { return AttributeProto::of(name, std::move(value)); };
  return {
      of("nodes_treeids", Ints{0, 0, 0, 0, 0, 1}),
      of("nodes_nodeids", Ints{0, 1, 2, 3, 4, 0}),
      of("nodes_featureids", Ints{0, 1, 0, 0, 0, 0}),
      of("nodes_modes", std::vector<std::string>{"BRANCH_LT", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "LEAF"}),
      of("nodes_values", Floats{1, 5, 0, 0, 0, 0}),
      of("nodes_truenodeids", Ints{1, 2, 0, 0, 0, 0}),
      of("nodes_falsenodeids", Ints{4, 3, 0, 0, 0, 0}),
      of("nodes_missing_value_tracks_true", Ints{0, 1, 0, 0, 0, 0}),
      AttributeProto::of(kind + "_treeids", Ints{0, 0, 0, 1}),
      AttributeProto::of(kind + "_nodeids", Ints{2, 3, 4, 0}),
      AttributeProto::of(kind + "_ids", Ints{0, 1, 0, 0}),
      AttributeProto::of(kind + "_weights", Floats{1, 20, 4, 10})};
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("trees send each row to a leaf, and missing numbers where the node says", "[onnx]") {
  const Given rows{"x", {5, 2}, {0, 5, 0, 6, 1, 0, 0, kNan, kNan, 0}};
  std::vector<AttributeProto> attributes = two_trees("target");
  attributes.push_back(AttributeProto::of("n_targets", std::int64_t{2}));
  const Tensor y =
      results_of(model_of(ml_node("TreeEnsembleRegressor", {"y"}, attributes), {rows}), {rows})[0];
  CHECK(floats(y) == Floats{11, 0, 10, 20, 14, 0, 11, 0, 14, 0});
  attributes = two_trees("class");
  attributes.push_back(AttributeProto::of("classlabels_int64s", Ints{7, 9}));
  const Tensors both =
      results_of(model_of(ml_node("TreeEnsembleClassifier", {"y", "z"}, attributes), {rows}), {rows});
  CHECK(ints(both[0]) == Ints{7, 9, 7, 7, 7});
  CHECK(floats(both[1]) == floats(y));
}

TEST_CASE("nodes that go in circles are no trees", "[onnx]") {
  std::vector<AttributeProto> attributes = two_trees("target");
  attributes.push_back(AttributeProto::of("n_targets", std::int64_t{2}));
  attributes[5].ints = {1, 0, 0, 0, 0, 0};
  const Given rows{"x", {1, 2}, {0, 5}};
  try {
    import_model(model_of(ml_node("TreeEnsembleRegressor", {"y"}, attributes), {rows}), {});
    FAIL("circles are taken for trees");
  } catch (const OpError& error) {
    CHECK(error.message().find("nodes that are no trees") != std::string::npos);
  }
}

TEST_CASE("a label without a key gets the default", "[onnx]") {
  const Given x{"x", {2, 2}, {0.5F, 3, kNan, 8}};
  const NodeProto node = ml_node("LabelEncoder", {"y"},
                                 {AttributeProto::of("keys_floats", Floats{3, 0.5F, kNan}),
                                  AttributeProto::of("values_int64s", Ints{30, 50, 90})});
  CHECK(ints(results_of(model_of(node, {x}), {x})[0]) == Ints{50, 30, 90, -1});
}

TEST_CASE("a box that overlaps a better one is left out", "[onnx]") {
  const std::vector<Given> given{{"boxes", {1, 4, 4}, {0, 0, 1, 1, 1, 1.1F, 0, 0.1F, 0, 5, 1, 6, 0, 0, 1, 1}},
                                 {"scores", {1, 1, 4}, {0.5F, 0.9F, 0.5F, 0.1F}}};
  ModelProto model = model_of(
      node_record("NonMaxSuppression", {"boxes", "scores", "most", "overlap", "least"}, {"y"}), given);
  model.graph.initializers = {ints_record("most", {3}), floats_record("overlap", {1}, {0.5F}),
                              floats_record("least", {1}, {0.2F})};
  const std::vector<Tensor> arguments = tensors_of(given);
  const Values made = run_model(model, Values(arguments.begin(), arguments.end()), {});
  CHECK(ints(made[0].tensor) == Ints{0, 0, 1, 0, 0, 2});
  CHECK_THROWS_AS(import_model(model, {}), InputsNeeded);
}

TEST_CASE("regions of an image that rises evenly give what is in their middle", "[onnx]") {
  Floats image;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) image.push_back(static_cast<float>(10 * row + column));
  }
  const std::vector<Given> given{{"x", {1, 1, 8, 8}, image}, {"rois", {1, 4}, {1, 2, 5, 6}}};
  for (const std::int64_t ratio : {0, 2}) {
    ModelProto model = model_of(node_record("RoiAlign", {"x", "rois", "images"}, {"y"},
                                            {AttributeProto::of("output_height", std::int64_t{2}),
                                             AttributeProto::of("output_width", std::int64_t{1}),
                                             AttributeProto::of("sampling_ratio", ratio)}),
                                given);
    model.graph.initializers = {ints_record("images", {0})};
    const std::vector<Tensor> arguments = tensors_of(given);
    const Floats y = floats(run_model(model, Values(arguments.begin(), arguments.end()), {})[0].tensor);
    CHECK(y == Floats{27.5F, 47.5F});  // rows 2.5 and 4.5, column 2.5
  }
}

TEST_CASE("a deformable convolution without moves is a convolution", "[onnx]") {
  Floats image, weight;
  for (int i = 0; i < 2 * 25; ++i) image.push_back(std::sin(static_cast<float>(i)));
  for (int i = 0; i < 2 * 2 * 4; ++i) weight.push_back(std::cos(static_cast<float>(i)));
  const std::vector<AttributeProto> attributes{AttributeProto::of("pads", Ints{1, 1, 0, 0}),
                                               AttributeProto::of("strides", Ints{2, 1})};
  const Given x{"x", {1, 2, 5, 5}, image}, w{"w", {2, 2, 2, 2}, weight};
  const Given still{"o", {1, 8, 3, 5}, Floats(8 * 15, 0)};
  const std::vector<Given> plain{x, w}, moved{x, w, still};
  const Floats a =
      floats(results_of(model_of(node_record("Conv", {"x", "w"}, {"y"}, attributes), plain), plain)[0]);
  const Floats b = floats(
      results_of(model_of(node_record("DeformConv", {"x", "w", "o"}, {"y"}, attributes), moved), moved)[0]);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-5F);
}

TEST_CASE("a quantized LSTM is near the one of its weights as floats", "[onnx]") {
  constexpr std::int64_t kInputs = 3, kHidden = 2, kGates = 4 * kHidden;
  const auto rows = [](std::int64_t count, float step) {
    Floats values;
    for (std::int64_t i = 0; i < count * kGates; ++i)
      values.push_back(std::round(100 * std::sin(step * static_cast<float>(i))));
    return values;
  };
  const Floats w = rows(kInputs, 1.3F), r = rows(kHidden, 0.7F);
  const Given x{"x", {4, 1, kInputs}, {1, 0, -1, 0.5F, 2, 0, -1, -1, 1, 0, 0.25F, 0.5F}};
  const auto bytes = [](const std::string& name, std::int64_t count, const Floats& values) {
    TensorProto made;
    made.name = name;
    made.type = ElementType::Int8;
    made.dims = {1, count, kGates};
    for (const float each : values) made.int32s.push_back(static_cast<std::int32_t>(each));
    return made;
  };
  const auto scaled = [](const Floats& values, std::int64_t count) {  // transposed
    Floats made;
    for (std::int64_t row = 0; row < kGates; ++row) {
      for (std::int64_t k = 0; k < count; ++k)
        made.push_back(values[static_cast<std::size_t>(k * kGates + row)] * 0.01F);
    }
    return made;
  };
  const std::vector<AttributeProto> attributes{AttributeProto::of("hidden_size", kHidden)};
  ModelProto plain = model_of(node_record("LSTM", {"x", "w", "r"}, {"y"}, attributes), {x});
  plain.graph.initializers = {floats_record("w", {1, kGates, kInputs}, scaled(w, kInputs)),
                              floats_record("r", {1, kGates, kHidden}, scaled(r, kHidden))};
  NodeProto node =
      node_record("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "scale", "", "scale", ""}, {"y"},
                  attributes);
  node.domain = "com.microsoft";
  ModelProto quantized = model_of(node, {x});
  quantized.graph.initializers = {bytes("w", kInputs, w), bytes("r", kHidden, r),
                                  floats_record("scale", {1}, {0.01F})};
  const Floats a = floats(results_of(plain, {x})[0]), b = floats(results_of(quantized, {x})[0]);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 0.01F);
}

TEST_CASE("bits of known elements are read as another dtype", "[onnx]") {
  const NodeProto node = node_record("BitCast", {"x"}, {"y"}, {AttributeProto::of("to", std::int64_t{6})});
  const std::vector<Given> given{{"x", {3}, {1, -2, 0}}};
  const std::vector<Tensor> arguments = tensors_of(given);
  const Values made = run_model(model_of(node, given), Values(arguments.begin(), arguments.end()), {});
  CHECK(ints(made[0].tensor) == Ints{0x3f800000, -0x40000000, 0});
  CHECK_THROWS_AS(import_model(model_of(node, given), {}), InputsNeeded);
}

}  // namespace kiln::operators_test
