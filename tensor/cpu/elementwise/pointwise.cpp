// The one kernel of all elementwise rows: the scalar function is the row's, by its number.
#include "tensor/ops/pointwise.h"

#include <algorithm>
#include <limits>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/cpu/elementwise/pointwise.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scalar.h"

namespace kiln::cpu {
namespace {

// An operand left out changes nothing: the least bound below, the greatest above.
double absent_bound(std::size_t index) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return index == 1 ? -kInf : kInf;
}

void check_numbers(const Op& op, Inputs inputs, DType dtype) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int at = static_cast<int>(i);
    if (inputs[i] && inputs[i].is_number() && must_fit(*op.pointwise, at, inputs[i]))
      rules::check_fits(inputs[i], dtype, spoken_name(op), at);
  }
}

// What is known of one application before any element is touched.
struct Plan {
  DType promoted;
  Operand operands[3];
};

Plan plan_of(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Pointwise& row = *op.pointwise;
  Plan plan;
  OperandType types[3];
  std::size_t count = 0;
  bool only_numbers = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x) {
      plan.operands[i].absent = absent_bound(i);
      continue;
    }
    plan.operands[i].tensor = &x;
    only_numbers = only_numbers && x.is_number();
    if (static_cast<int>(i) == row.mask) {
      plan.operands[i].as_bool = true;
    } else {
      types[count++] = {x.dtype(), x.is_number(), x.rank() > 0};
    }
  }
  plan.promoted = pointwise_types(op, {types, count}, only_numbers, attrs).promoted;
  if (numbers_must_fit(row, plan.promoted)) check_numbers(op, inputs, plan.promoted);
  return plan;
}

// The row of the shortest body that gives the same bits: how a quotient is rounded is known here.
int shortest_row(const Pointwise& row, const Params& params) {
  if (row.row != kRow_div_rounded) return row.row;
  const double mode = params.v[0];
  return mode == math::kFloorMode ? kRow_floor_div : mode == math::kTruncMode ? kRow_trunc_div : kRow_div;
}

void compute(const Op& op, Inputs inputs, const Attrs& attrs, const Tensor& output) {
  const Pointwise& row = *op.pointwise;
  const Plan plan = plan_of(op, inputs, attrs);
  const Params params = pointwise_params(op, attrs, plan.promoted);
  const ElementwiseJob job{
      .kernels = kernel_table().rows[shortest_row(row, params)],
      .compute = compute_of(plan.promoted),
      .predicate = row.rule == TypeRule::Predicate,
      .costly = row.rule == TypeRule::Float,
      .params = &params,
  };
  if (run_elementwise(job, {plan.operands, inputs.size()}, output) != 0) {
    throw OpError(ErrorKind::Value, failure_of(op, attrs), {1});
  }
}

// A float cast to bool is true unless it is 0; the arithmetic of bools is that of integers, where 0.5 would
// be 0.
bool casts_to_bool(const Op& op, Inputs inputs) {
  if (op.pointwise->rule != TypeRule::First || inputs[0].dtype() != DType::Bool) return false;
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return is_float(x.dtype()); });
}
Tensors with_bools(Inputs inputs) {
  Tensors result(inputs.begin(), inputs.end());
  for (Tensor& x : result)
    if (is_float(x.dtype())) x = contiguous_copy(x, DType::Bool);
  return result;
}

void check_some_bound(const Op& op, Inputs inputs) {
  if (inputs.size() < 3 || inputs[1] || inputs[2]) return;
  throw OpError(ErrorKind::Value, spoken_name(op) + ": give min, max or both");
}

bool is_operand(const Tensor& output, Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& each) { return each && shares_storage(each, output); });
}

void pointwise(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream) {
  const Tensor& output = outputs[0];
  if (casts_to_bool(op, inputs)) return pointwise(op, attrs, with_bools(inputs), outputs, stream);
  check_some_bound(op, inputs);
  // An op that is not defined everywhere leaves its operand alone when it fails.
  if (!op.pointwise->failure.empty() && is_operand(output, inputs)) {
    const Tensor apart = Tensor::empty(output.sizes(), output.dtype(), output.device());
    compute(op, inputs, attrs, apart);
    return copy(output, apart);
  }
  compute(op, inputs, attrs, output);
}

// The attributes that a row's op has by default, by the row's number.
const Attrs& defaults_of(Row row) {
  static const std::vector<Attrs> all = [] {
    std::vector<Attrs> made(kRowCount);
    for (const Op* const op : OpTable::get().ops()) {
      if (op->pointwise != nullptr) made[static_cast<std::size_t>(op->pointwise->row)] = Attrs(*op);
    }
    return made;
  }();
  return all[static_cast<std::size_t>(row)];
}

}  // namespace

void apply_row(Row row, std::initializer_list<Tensor> inputs, const Tensor& output) {
  const Attrs& attrs = defaults_of(row);
  compute(*attrs.op(), {inputs.begin(), inputs.size()}, attrs, output);
}

void add_pointwise_kernels(Column& column) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->pointwise != nullptr) column.add(*op, {.run = pointwise, .is_direct = true});
  }
}

}  // namespace kiln::cpu
