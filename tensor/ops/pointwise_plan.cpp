#include "tensor/ops/pointwise_plan.h"

#include <algorithm>
#include <limits>

#include "tensor/compute.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scalar.h"

namespace kiln {
namespace {

void check_numbers(const Op& op, Inputs inputs, DType dtype) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int at = static_cast<int>(i);
    if (inputs[i] && inputs[i].is_number() && must_fit(*op.pointwise, at, inputs[i]))
      rules::check_fits(inputs[i], dtype, spoken_name(op), at);
  }
}

void check_some_bound(const Op& op, Inputs inputs) {
  if (inputs.size() < 3 || inputs[1] || inputs[2]) return;
  throw OpError(ErrorKind::Value, spoken_name(op) + ": give min, max or both");
}

// How a quotient is rounded is known here.
int shortest_row(const Pointwise& row, const Params& params) {
  if (row.row != kRow_div_rounded) return row.row;
  const double mode = params.v[0];
  return mode == math::kFloorMode ? kRow_floor_div : mode == math::kTruncMode ? kRow_trunc_div : kRow_div;
}

DType promoted_of(const Op& op, Inputs inputs, const Attrs& attrs) {
  OperandType types[3];
  std::size_t count = 0;
  bool only_numbers = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x) continue;
    only_numbers = only_numbers && x.is_number();
    if (static_cast<int>(i) != op.pointwise->mask) types[count++] = {x.dtype(), x.is_number(), x.rank() > 0};
  }
  return pointwise_types(op, {types, count}, only_numbers, attrs).promoted;
}

}  // namespace

PointwisePlan plan_pointwise(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Pointwise& row = *op.pointwise;
  check_some_bound(op, inputs);
  const DType promoted = promoted_of(op, inputs, attrs);
  if (numbers_must_fit(row, promoted)) check_numbers(op, inputs, promoted);
  const Params params = pointwise_params(op, attrs, promoted);
  return {promoted, compute_of(promoted), params, shortest_row(row, params), may_refuse(row, promoted)};
}

bool may_refuse(const Pointwise& row, DType promoted) {
  return !row.failure.empty() && (!is_float(promoted) || (row.flags & kFailsOfFloats) != 0);
}

bool casts_to_bool(const Op& op, Inputs inputs) {
  if (op.pointwise->rule != TypeRule::First || inputs[0].dtype() != DType::Bool) return false;
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return is_float(x.dtype()); });
}

double absent_operand(std::size_t index) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return index == 1 ? -kInf : kInf;
}

}  // namespace kiln
