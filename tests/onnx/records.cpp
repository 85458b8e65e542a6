#include "tests/onnx/records.h"

namespace kiln::onnx {

TensorProto floats_record(const std::string& name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& values) {
  TensorProto made;
  made.name = name;
  made.type = ElementType::Float;
  made.dims = dims;
  made.floats = values;
  return made;
}

TensorProto ints_record(const std::string& name, const std::vector<std::int64_t>& values) {
  TensorProto made;
  made.name = name;
  made.type = ElementType::Int64;
  made.dims = {static_cast<std::int64_t>(values.size())};
  made.int64s = values;
  return made;
}

ValueInfo value_record(const std::string& name, std::vector<Dimension> sizes, ElementType type) {
  ValueInfo made;
  made.name = name;
  made.type.kind = TypeProto::Kind::Tensor;
  made.type.element = type;
  made.type.shape = std::move(sizes);
  return made;
}

NodeProto node_record(const std::string& type, std::vector<std::string> inputs,
                      std::vector<std::string> outputs, std::vector<AttributeProto> attributes) {
  NodeProto made;
  made.op_type = type;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.attributes = std::move(attributes);
  return made;
}

ModelProto model_record(std::vector<ValueInfo> inputs, std::vector<NodeProto> nodes,
                        std::vector<ValueInfo> outputs) {
  ModelProto made;
  made.ir_version = 9;
  made.opsets = {{"", 20}};
  made.graph.name = "g";
  made.graph.inputs = std::move(inputs);
  made.graph.nodes = std::move(nodes);
  made.graph.outputs = std::move(outputs);
  return made;
}

}  // namespace kiln::onnx
