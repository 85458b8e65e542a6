// Owns nansum: the sum without what is nan, in one pass.
#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

Tensors decompose(const Op&, Inputs in, const Attrs& attrs) {
  static const Op& sum = OpTable::get().at("sum");
  const Tensor numbers =
      is_float(in[0].dtype()) ? ops::masked_fill(in[0], ops::isnan(in[0]), Tensor::number(0.0)) : in[0];
  return ops::apply(
      sum, {&numbers, 1},
      {{"dim", attrs.at("dim")}, {"keepdim", attrs.at("keepdim")}, {"dtype", attrs.at("dtype")}});
}

Tensors eager(const Op& op, Inputs in, const Attrs& attrs) {
  const DType dtype = total_dtype(in[0].dtype(), attrs);
  if (!is_float(in[0].dtype()) || !is_float(dtype)) return decompose(op, in, attrs);
  const Tensor x = ops::cast(in[0], combined_dtype(in[0].dtype(), dtype));
  const Dims dims = ops::reduced_dims(attrs, x.rank());
  const Tensor total = cpu::fold(x, dims, cpu::Combine::Sum, cpu::Map::NanToZero);
  const Dims sizes = ops::reduced_sizes(x.sizes(), dims, ops::keeps_dims(attrs));
  return {ops::cast(ops::with_sizes(total, sizes), dtype)};
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
      .eager = eager,
      .decompose = decompose,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
  });
}

}  // namespace kiln
