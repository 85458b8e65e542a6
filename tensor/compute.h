// Owns which types arithmetic happens in: that of elementwise ops, and that of what reductions combine.
#pragma once

#include "tensor/dtype.h"
#include "tensor/pointwise_params.h"

namespace kiln {

// The type of elementwise arithmetic that holds every value of `dtype`; of complex numbers, of their parts.
constexpr Compute compute_of(DType dtype) {
  constexpr Compute kComputes[kDTypeCount] = {Compute::I32, Compute::I32, Compute::I32, Compute::I32,
                                              Compute::I32, Compute::I64, Compute::F32, Compute::F32,
                                              Compute::F32, Compute::F64, Compute::F32, Compute::F64};
  return kComputes[static_cast<int>(dtype)];
}

// The dtype in which reductions combine elements of `dtype`: i64 for bools and integers, f32 for halves, else
// itself.
inline DType accumulator_of(DType dtype) {
  if (is_complex(dtype)) return dtype;
  if (!is_float(dtype)) return DType::I64;
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

}  // namespace kiln
