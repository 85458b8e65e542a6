// Owns the derivatives and batching rules of the three convolution primitives.
#pragma once

#include "tensor/op.h"

namespace kiln::rules {

Tensors convolution_vjp(const VjpArgs& args);
Tensors convolution_jvp(const JvpArgs& args);
Tensors convolution_batch(const BatchArgs& args);
Tensors convolution_input_vjp(const VjpArgs& args);
Tensors convolution_input_jvp(const JvpArgs& args);
Tensors convolution_input_batch(const BatchArgs& args);
Tensors convolution_weight_vjp(const VjpArgs& args);
Tensors convolution_weight_jvp(const JvpArgs& args);
Tensors convolution_weight_batch(const BatchArgs& args);

}  // namespace kiln::rules
