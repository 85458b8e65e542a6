// The one kernel of all elementwise rows: the scalar function is the row's, by its number.
#include "tensor/ops/pointwise_plan.h"

#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/cpu/elementwise/pointwise.h"
#include "tensor/ops/scalar.h"

namespace kiln::cpu {
namespace {

void compute(const Op& op, Inputs inputs, const Attrs& attrs, const Tensor& output) {
  const Pointwise& row = *op.pointwise;
  const PointwisePlan plan = plan_pointwise(op, inputs, attrs);
  Operand operands[3];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i])
      operands[i] = {.tensor = &inputs[i], .as_bool = static_cast<int>(i) == row.mask};
    else
      operands[i].absent = absent_operand(i);
  }
  const ElementwiseJob job{
      .kernels = kernel_table().rows[plan.row],
      .compute = plan.compute,
      .predicate = row.rule == TypeRule::Predicate,
      .costly = row.rule == TypeRule::Float,
      .params = &plan.params,
  };
  if (run_elementwise(job, {operands, inputs.size()}, output) != 0) {
    throw OpError(ErrorKind::Value, failure_of(op, attrs), {1});
  }
}

Tensors with_bools(Inputs inputs) {
  Tensors result(inputs.begin(), inputs.end());
  for (Tensor& x : result)
    if (is_float(x.dtype())) x = contiguous_copy(x, DType::Bool);
  return result;
}

bool is_operand(const Tensor& output, Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& each) { return each && shares_storage(each, output); });
}

void pointwise(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream) {
  const Tensor& output = outputs[0];
  if (casts_to_bool(op, inputs)) return pointwise(op, attrs, with_bools(inputs), outputs, stream);
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
