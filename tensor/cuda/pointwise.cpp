// The one kernel of all elementwise rows on cards: the scalar function is the row's, by its number.
#include <algorithm>
#include <cstring>

#include "tensor/cuda/context.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/kernels.h"
#include "tensor/ops/pointwise_plan.h"

namespace kiln::cuda {
namespace {

using Kind = ElementwiseOperand::Kind;

// Large operands are laid out first where their memory runs across that of the result: tiles read each line
// of it once.
constexpr std::int64_t kWorthLayingOut = 1 << 16;

Tensor along(const Tensor& x, const Tensor& result) {
  if (x.numel() < kWorthLayingOut || x.sizes() != result.sizes() || !result.is_contiguous()) return x;
  return crossing_axis(walk_along(result, {&x, 1}), 0) == 0 ? x : laid_out(x);
}

// An operand that is left out, in the type of the arithmetic: of integers infinities are their extrema.
std::uint64_t absent_bits(std::size_t index, Compute compute) {
  const double value = absent_operand(index);
  if (compute == Compute::F32 || compute == Compute::F64) return bits_in(compute, Tensor::number(value));
  const int bits = compute == Compute::I32 ? 32 : 64;
  const std::uint64_t least = std::uint64_t{1} << (bits - 1);
  return value < 0 ? least : least - 1;
}

ElementwiseOperand operand_of(const Op& op, Inputs inputs, std::size_t index, Compute compute, bool to_bool,
                              const Tensor& result) {
  const Tensor& x = inputs[index];
  ElementwiseOperand operand;
  operand.as_bool = static_cast<int>(index) == op.pointwise->mask;
  if (x && !is_on_host(x.device())) {
    operand.kind = to_bool && is_float(x.dtype()) ? Kind::ThroughBool : Kind::Elements;
    operand.tensor = along(x, result);
    return operand;
  }
  operand.kind = Kind::Number;
  operand.number = !x                ? absent_bits(index, compute)
                   : operand.as_bool ? bits_as_bool(x)
                                     : bits_in(compute, x, to_bool && is_float(x.dtype()));
  return operand;
}

bool is_operand(const Tensor& result, Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& each) { return each && shares_storage(each, result); });
}
bool is_read_elsewhere(const Tensor& result, Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& each) {
    return each && each.layout() != result.layout() && overlaps(each, result);
  });
}

void pointwise(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const PointwisePlan plan = plan_pointwise(op, inputs, attrs);
  const bool to_bool = casts_to_bool(op, inputs);
  Elementwise what{.body = plan.row, .compute = plan.compute, .params = plan.params};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    what.operands[i] = operand_of(op, inputs, i, plan.compute, to_bool, result);
  if (plan.may_refuse) {
    what.refusal = [&op, attrs](std::int64_t) {
      return OpError(ErrorKind::Value, failure_of(op, attrs), {1});
    };
  }
  // An op leaves its operand alone when it refuses elements.
  if (plan.may_refuse ? !is_operand(result, inputs) : !is_read_elsewhere(result, inputs))
    return run_elementwise(what, result);
  const Tensor apart = Tensor::empty(result.sizes(), result.dtype(), result.device());
  if (plan.may_refuse) what.refused = unset_word(result.device());
  run_elementwise(what, apart);
  plan.may_refuse ? copy_unless(what.refused, result, apart) : copy_elements(result, apart);
}

}  // namespace

void add_pointwise_kernels(Kernels& kernels) {
  for (const Op* const op : OpTable::get().ops())
    if (op->pointwise != nullptr) kernels.add(*op, {.run = pointwise, .is_direct = true});
}

}  // namespace kiln::cuda
