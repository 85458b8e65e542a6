// Owns what a tensor must be to be an input of a model.
#pragma once

#include "onnx/proto/model.h"
#include "tensor/tensor.h"

namespace kiln::onnx {

// Throws OpError (DType, Shape) where the model says another dtype or other sizes of the input.
void check_type(const ValueInfo& input, const Tensor& x);
// Throws OpError (Device) for a tensor that is not where the model runs.
void check_device(const ValueInfo& input, const Tensor& x, Device device);

}  // namespace kiln::onnx
