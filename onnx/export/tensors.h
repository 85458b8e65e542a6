// Owns tensors and types as ONNX keeps them.
#pragma once

#include <string>

#include "jit/graph/graph.h"
#include "onnx/proto/model.h"

namespace kiln::onnx {

ElementType element_type(DType dtype);
// Complex tensors are pairs of parts in one more dimension of two: the dtype of those, and the pairs.
DType dtype_of_parts(DType dtype);
Tensor as_pairs(const Tensor& x);
// The elements row by row, little endian.
TensorProto to_proto(const Tensor& tensor, std::string name);
// Sizes that are no ints are named by their expression: `dim_param`.
TypeProto to_proto(const jit::Type& type);

}  // namespace kiln::onnx
