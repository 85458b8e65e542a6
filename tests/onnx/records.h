// Owns short ways to write records of ONNX models in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onnx/proto/model.h"

namespace kiln::onnx {

TensorProto floats_record(const std::string& name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& values);
TensorProto ints_record(const std::string& name, const std::vector<std::int64_t>& values);  // i64[n]

inline Dimension size(std::int64_t number) { return {number, ""}; }
inline Dimension open_size(const std::string& name) { return {std::nullopt, name}; }
// A tensor that comes in or goes out.
ValueInfo value_record(const std::string& name, std::vector<Dimension> sizes,
                       ElementType type = ElementType::Float);

NodeProto node_record(const std::string& type, std::vector<std::string> inputs,
                      std::vector<std::string> outputs, std::vector<AttributeProto> attributes = {});

// A model of opset 20.
ModelProto model_record(std::vector<ValueInfo> inputs, std::vector<NodeProto> nodes,
                        std::vector<ValueInfo> outputs);

}  // namespace kiln::onnx
