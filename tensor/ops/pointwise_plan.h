// Owns what kernels of elementwise rows know of an application before they touch an element, on every device.
#pragma once

#include "tensor/ops/pointwise.h"

namespace kiln {

struct PointwisePlan {
  DType promoted;
  Compute compute;  // the type of the arithmetic
  Params params;
  int row;          // the one with the shortest body that gives the same bits
  bool may_refuse;  // some elements, with `failure_of`
};

// Throws OpError where the rule refuses the operands, where numbers do not fit that must, and for a clamp
// without bounds.
PointwisePlan plan_pointwise(const Op& op, Inputs inputs, const Attrs& attrs);

// May the row refuse elements, where it computes in that dtype?
bool may_refuse(const Pointwise& row, DType promoted);

// Do operands that are floats become bools first? A float cast to bool is true unless it is 0, but the
// arithmetic of bools is that of integers, where 0.5 would be 0.
bool casts_to_bool(const Op& op, Inputs inputs);

// What an operand that is left out counts as: it changes nothing.
double absent_operand(std::size_t index);

}  // namespace kiln
