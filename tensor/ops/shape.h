// Owns what the kernels of the shape family ask of its rows, and what rows of others have from it.
#pragma once

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace kiln {

// A vector without elements joins with anything, as it always could.
inline bool is_skipped_by_cat(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == 0; }

// What a body made and shows by a view, as a tensor that is no view: nothing else can reach what it is a view
// of.
Tensor as_no_view(Tensor made);

namespace ops {

// A row of the family `shape` whose value and derivatives are those of its body.
Op shape_row(std::string_view signature, std::string_view documentation, std::string_view example,
             InferFn infer, BodyFn body, OnnxRule onnx = {});

}  // namespace ops

}  // namespace kiln
