// Owns nansum: the sum without what is nan.
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

Tensors decompose(const Op&, Inputs in, const Attrs& attrs) {
  static const Op& sum = OpTable::get().at("sum");
  const Tensor numbers = is_differentiable(in[0].dtype())
                             ? ops::masked_fill(in[0], ops::isnan(in[0]), Tensor::number(0.0))
                             : in[0];
  return ops::apply(
      sum, {&numbers, 1},
      {{"dim", attrs.at("dim")}, {"keepdim", attrs.at("keepdim")}, {"dtype", attrs.at("dtype")}});
}

}  // namespace

void add_nan_sum_op(OpTable& table) {
  table.add({
      .signature = Signature::parse(
          "nansum(x: tensor, dim: dims? = none, keepdim: bool = false, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation = "The sum along `dim` (of all elements when none) where nan counts as 0.",
      .example = ">>> nansum(tensor([1.0, nan, 2.0])).item()\n3.0",
      .infer = infer_total,
      .decompose = decompose,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
      .complex = ComplexRule::Moves,
  });
}

}  // namespace kiln
