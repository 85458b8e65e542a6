// Owns which types arithmetic happens in.
#pragma once

#include "tensor/dtype.h"

namespace kiln {

// The dtype in which reductions combine elements of `dtype`: i64 for bools and integers, f32 for halves, else
// itself.
inline DType accumulator_of(DType dtype) {
  if (!is_float(dtype)) return DType::I64;
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

}  // namespace kiln
