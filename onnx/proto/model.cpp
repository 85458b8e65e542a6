#include "onnx/proto/model.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

AttributeProto named(std::string name, AttributeProto::Kind kind) {
  AttributeProto attribute;
  attribute.name = std::move(name);
  attribute.kind = kind;
  return attribute;
}

}  // namespace

AttributeProto AttributeProto::of(std::string name, std::int64_t value) {
  AttributeProto attribute = named(std::move(name), Kind::Int);
  attribute.i = value;
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, float value) {
  AttributeProto attribute = named(std::move(name), Kind::Float);
  attribute.f = value;
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, std::string value) {
  AttributeProto attribute = named(std::move(name), Kind::String);
  attribute.s = std::move(value);
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, std::vector<std::int64_t> values) {
  AttributeProto attribute = named(std::move(name), Kind::Ints);
  attribute.ints = std::move(values);
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, std::vector<float> values) {
  AttributeProto attribute = named(std::move(name), Kind::Floats);
  attribute.floats = std::move(values);
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, std::vector<std::string> values) {
  AttributeProto attribute = named(std::move(name), Kind::Strings);
  attribute.strings = std::move(values);
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, TensorProto value) {
  AttributeProto attribute = named(std::move(name), Kind::Tensor);
  attribute.tensors.push_back(std::move(value));
  return attribute;
}

AttributeProto AttributeProto::of(std::string name, GraphProto value) {
  AttributeProto attribute = named(std::move(name), Kind::Graph);
  attribute.graphs.push_back(std::move(value));
  return attribute;
}

const AttributeProto* NodeProto::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeProto& given) { return given.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::optional<std::int64_t> ModelProto::opset(std::string_view of_domain) const {
  const std::string_view wanted = of_domain == "ai.onnx" ? "" : of_domain;
  for (const OpsetId& id : opsets) {
    if ((id.domain == "ai.onnx" ? "" : std::string_view(id.domain)) == wanted) return id.version;
  }
  return std::nullopt;
}

}  // namespace kiln::onnx
