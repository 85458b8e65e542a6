// Owns checking a model that was written: what any reader of the format relies on.
#pragma once

#include <string>

#include "onnx/proto/model.h"

namespace kiln::onnx {

// What is wrong, as one sentence; empty when nothing is. Every operand is made before its use and once, types
// of inputs and outputs are known, domains have a version, and functions that are called are there.
std::string find_fault(const ModelProto& model);

}  // namespace kiln::onnx
