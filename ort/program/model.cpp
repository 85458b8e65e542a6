#include "ort/program/model.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "interpreter/vm/arguments.h"
#include "onnx/export/constant_text.h"
#include "onnx/export/python_op.h"
#include "tensor/error.h"

namespace kiln::ort {
namespace {

using interp::Value;
using onnx::AttributeProto;
using onnx::NodeProto;
using Ints = std::vector<std::int64_t>;

// What Kiln's exact constants stand for.
constexpr std::array kReplaced = {"input_pointer_scalars",   "input_pointer_scalar_positions",
                                  "input_float_scalars",     "input_float_scalar_positions",
                                  "input_float_tuples",      "input_float_tuple_positions",
                                  "input_float_tuple_begins"};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw OpError(ErrorKind::Value, "the model " + path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

Ints ints(const NodeProto& node, const char* name) {
  const AttributeProto* attribute = node.find(name);
  return attribute != nullptr ? attribute->ints : Ints();
}

std::vector<double> doubles(const NodeProto& node, const char* name) {
  const AttributeProto* attribute = node.find(name);
  if (attribute == nullptr || attribute->tensors.size() != 1) return {};
  const onnx::TensorProto& tensor = attribute->tensors[0];
  if (!tensor.has_raw) return tensor.doubles;
  std::vector<double> values(tensor.raw.size() / sizeof(double));
  std::copy_n(tensor.raw.data(), values.size() * sizeof(double), reinterpret_cast<char*>(values.data()));
  return values;
}

bool is_python_op(const NodeProto& node) {
  return node.op_type == "PythonOp" && node.domain == "com.microsoft";
}

std::string function_name(const NodeProto& node) {
  const AttributeProto* name = node.find("func_name");
  return name != nullptr ? name->s : "";
}

[[noreturn]] void refuse(const NodeProto& node, const std::string& what) {
  throw OpError(ErrorKind::Value, "node " + node.name + " of " + function_name(node) + " has " + what);
}

}  // namespace

PreparedModel::PreparedModel(Functions& functions, const std::string& path)
    : model_(onnx::read_model(read_file(path))) {
  for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
    const NodeProto& node = model_.graph.nodes[i];
    if (is_python_op(node)) prepare(functions, i);
  }
}

void PreparedModel::keep(std::size_t node, std::int64_t position, Value value) {
  constants_.push_back(std::move(value));
  pointers_.push_back({node, position});
}

void PreparedModel::prepare(Functions& functions, std::size_t i) {
  const NodeProto& node = model_.graph.nodes[i];
  const std::string name = function_name(node);
  static_cast<void>(functions.find(name));
  names_[name] = node.find(onnx::kShapeConstants) != nullptr;
  const AttributeProto* told = node.find("__kiln_pointers");
  const AttributeProto* arguments = node.find("__kiln_arguments");
  const Ints positions = ints(node, "input_pointer_scalar_positions");
  if ((told == nullptr ? 0 : told->strings.size()) != positions.size())
    refuse(node, "pointers of another process, and no names for them");
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const auto at = static_cast<std::size_t>(positions[k]);
    const bool has_name = arguments != nullptr && at < arguments->strings.size();
    const std::string what =
        "argument " + (has_name ? "`" + arguments->strings[at] + "`" : std::to_string(at)) + " of " + name;
    keep(i, positions[k], functions.constant(onnx::read_constant(told->strings[k]), what));
  }
  const Ints scalars = ints(node, "input_float_scalar_positions");
  const std::vector<double> values = doubles(node, "__kiln_float_scalars");
  if (values.size() != scalars.size()) refuse(node, "floats that are not kept in full");
  for (std::size_t k = 0; k < scalars.size(); ++k) keep(i, scalars[k], Value(values[k]));
  const Ints tuples = ints(node, "input_float_tuple_positions");
  const Ints begins = ints(node, "input_float_tuple_begins");
  const std::vector<double> items = doubles(node, "__kiln_float_tuples");
  if (begins.size() != tuples.size()) refuse(node, "tuples without their begins");
  for (std::size_t k = 0; k < tuples.size(); ++k) {
    const auto begin = static_cast<std::size_t>(begins[k]);
    const auto end = k + 1 < begins.size() ? static_cast<std::size_t>(begins[k + 1]) : items.size();
    if (begin > end || end > items.size()) refuse(node, "floats that are not kept in full");
    std::vector<Value> tuple;
    for (std::size_t at = begin; at < end; ++at) tuple.emplace_back(items[at]);
    keep(i, tuples[k], interp::host::tuple_value(std::move(tuple)));
  }
}

std::string PreparedModel::bytes(const std::vector<std::int64_t>& addresses) const {
  onnx::ModelProto made = model_;
  for (NodeProto& node : made.graph.nodes) {
    if (!is_python_op(node)) continue;
    std::erase_if(node.attributes, [](const AttributeProto& each) {
      return std::find(kReplaced.begin(), kReplaced.end(), each.name) != kReplaced.end();
    });
  }
  for (std::size_t i = 0; i < made.graph.nodes.size(); ++i) {
    Ints scalars, positions;
    for (std::size_t k = 0; k < pointers_.size(); ++k) {
      if (pointers_[k].node != i) continue;
      scalars.push_back(addresses.at(k));
      positions.push_back(pointers_[k].position);
    }
    if (scalars.empty()) continue;
    auto& attributes = made.graph.nodes[i].attributes;
    attributes.push_back(AttributeProto::of("input_pointer_scalars", scalars));
    attributes.push_back(AttributeProto::of("input_pointer_scalar_positions", positions));
  }
  return onnx::write_model(made);
}

}  // namespace kiln::ort
