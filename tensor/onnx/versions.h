// Owns from which opset on ONNX has the operators that rules write.
#pragma once

#include <string>
#include <string_view>

#include "tensor/onnx/nodes.h"

namespace kiln {

struct OperatorVersion {
  int first = 0;      // the oldest opset that has the operator
  std::string words;  // what messages call it
};
OperatorVersion version_of(std::string_view type, const OnnxAttrs& attributes);

}  // namespace kiln
