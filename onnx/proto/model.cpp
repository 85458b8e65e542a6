#include "onnx/proto/model.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

// An attribute whose value is `member`.
template <class T>
AttributeProto made(std::string name, AttributeProto::Kind kind, T AttributeProto::* member, T value) {
  AttributeProto attribute;
  attribute.name = std::move(name);
  attribute.kind = kind;
  attribute.*member = std::move(value);
  return attribute;
}

}  // namespace

AttributeProto AttributeProto::of(std::string name, std::int64_t value) {
  return made(std::move(name), Kind::Int, &AttributeProto::i, value);
}

AttributeProto AttributeProto::of(std::string name, float value) {
  return made(std::move(name), Kind::Float, &AttributeProto::f, value);
}

AttributeProto AttributeProto::of(std::string name, std::string value) {
  return made(std::move(name), Kind::String, &AttributeProto::s, std::move(value));
}

AttributeProto AttributeProto::of(std::string name, std::vector<std::int64_t> values) {
  return made(std::move(name), Kind::Ints, &AttributeProto::ints, std::move(values));
}

AttributeProto AttributeProto::of(std::string name, std::vector<float> values) {
  return made(std::move(name), Kind::Floats, &AttributeProto::floats, std::move(values));
}

AttributeProto AttributeProto::of(std::string name, std::vector<std::string> values) {
  return made(std::move(name), Kind::Strings, &AttributeProto::strings, std::move(values));
}

AttributeProto AttributeProto::of(std::string name, TensorProto value) {
  return made(std::move(name), Kind::Tensor, &AttributeProto::tensors, {std::move(value)});
}

AttributeProto AttributeProto::of(std::string name, GraphProto value) {
  return made(std::move(name), Kind::Graph, &AttributeProto::graphs, {std::move(value)});
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
