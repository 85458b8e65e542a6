// Owns what losses share: their reduction and the composition of rows written over smaller ops.
#pragma once

#include <string_view>

#include "tensor/functions.h"

namespace kiln::ops {

enum class LossReduction : std::uint8_t { None, Mean, Sum };
// From attribute `reduction`; throws OpError (Value) that lists what there is.
LossReduction loss_reduction(const Attrs& attrs);
Tensor reduce_loss(const Tensor& each, LossReduction reduction);
Dims reduced_loss_sizes(const Dims& sizes, LossReduction reduction);
// How much each element's gradient counts: grad spread over `sizes`, divided by their number for the mean.
Tensor spread_loss_grad(const Tensor& grad, const Dims& sizes, LossReduction reduction);

// The weights of a loss are constants: throws OpError (Autograd) when input 2 wants a gradient.
void refuse_weight_gradient(const VjpArgs& args);

// A row of the nn family whose body is written with functions: levels look inside.
Op composite_row(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer, BodyFn body);
// A composite row of a loss, which takes f32 within `autocast(dtype)`.
Op loss_row(std::string_view signature, std::string_view documentation, std::string_view example,
            InferFn infer, BodyFn body);

// Type rule of losses of two tensors that broadcast: x first, target second.
std::vector<TensorType> infer_pair_loss(std::span<const TensorType> in, const Attrs& attrs);

}  // namespace kiln::ops
