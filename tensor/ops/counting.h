// Owns the numbers 0, 1, 2, … by which rules tell places apart.
#pragma once

#include "tensor/ops/rules.h"

namespace kiln::rules {

// i64[count] on the device of the operands: the default device is another matter.
inline Tensor counting(Dim count, Device device) {
  static const Op& row = OpTable::get().at("arange");
  return apply_one(row, Inputs{}, {std::int64_t{0}, count, std::int64_t{1}, DType::I64, device});
}

}  // namespace kiln::rules
