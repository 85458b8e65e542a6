// Owns the question of which element types an op takes, answered by its type rule on its samples.
#pragma once

#include "tests/tensor/samples.h"

namespace kiln::testing {

// The inputs of a sample in another dtype: those of f64, or the first when there are none. Integers are taken
// from thrice the values, so that they differ.
std::vector<Tensor> inputs_as(const Sample& sample, DType dtype);

// Does the type rule accept the sample in that dtype?
bool takes(const Op& op, const Sample& sample, DType dtype);

// The dtypes that a row takes in all of its samples; empty when it has no tensor inputs.
std::vector<DType> dtypes_of(const Op& op);

}  // namespace kiln::testing
