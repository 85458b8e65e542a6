// Owns quantization to 8 bits by the numbers themselves, which layers of quantized models compute as they
// run.
#pragma once

#include "tensor/tensor.h"

namespace kiln::onnx {

struct DynamicQuantized {
  Tensor whole;  // u8, of the sizes of x
  Tensor scale;  // 0-d, of the dtype of x
  Tensor zero;   // 0-d u8: the whole number that stands for 0
};
// The scale and zero point make the most of 8 bits for the elements of x and 0. Of zeros alone the scale
// is 1.
DynamicQuantized dynamically_quantized(const Tensor& x);

}  // namespace kiln::onnx
