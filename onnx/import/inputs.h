// Owns types of values of a model: their text, and what a tensor must be to be an input.
#pragma once

#include <string>

#include "onnx/proto/model.h"
#include "tensor/tensor.h"

namespace kiln::onnx {

// "f32[n, 4]", "?" for a size without a name. Throws OpError (DType) for elements that Kiln has no type for.
std::string type_text(const TypeProto& type);
// Throws OpError (DType, Shape) where the model says another dtype or other sizes of the input.
void check_type(const ValueInfo& input, const Tensor& x);
// Throws OpError (Device) for a tensor that is not where the model runs.
void check_device(const ValueInfo& input, const Tensor& x, Device device);

}  // namespace kiln::onnx
