#include "tensor/ops/loss.h"

#include "tensor/ops/reduced.h"

namespace kiln::ops {

LossReduction loss_reduction(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("reduction");
  if (name == "mean") return LossReduction::Mean;
  if (name == "sum") return LossReduction::Sum;
  if (name == "none") return LossReduction::None;
  throw OpError(ErrorKind::Value, std::string(attrs.op()->name()) + " knows no reduction \"" + name + "\"",
                {}, "reduction is \"mean\", \"sum\" or \"none\"");
}

Tensor reduce_loss(const Tensor& each, LossReduction reduction) {
  if (reduction == LossReduction::Mean) return mean(each);
  if (reduction == LossReduction::Sum) return sum(each);
  return each;
}

Dims reduced_loss_sizes(const Dims& sizes, LossReduction reduction) {
  return reduction == LossReduction::None ? sizes : Dims{};
}

Tensor spread_loss_grad(const Tensor& grad, const Dims& sizes, LossReduction reduction) {
  if (reduction == LossReduction::None) return grad;
  const Tensor share = reduction == LossReduction::Mean ? grad / count_elements(sizes) : grad;
  return expand(share, sizes);
}

Op composite_row(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer, BodyFn body) {
  return {
      .signature = Signature::parse(signature),
      .family = "nn",
      .documentation = documentation,
      .example = example,
      .infer = infer,
      .decompose = body,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
  };
}

Op loss_row(std::string_view signature, std::string_view documentation, std::string_view example,
            InferFn infer, BodyFn body) {
  Op row = composite_row(signature, documentation, example, infer, body);
  row.traits = kFullPrecision;
  return row;
}

std::vector<TensorType> infer_pair_loss(std::span<const TensorType> in, const Attrs& attrs) {
  const DType both = promote(in[0].dtype, in[1].dtype);
  TensorType type{is_complex(both) ? part_of(both) : both, in[0].device, {}, false};
  type.sizes = broadcast(in[0].sizes, in[1].sizes, attrs.op()->name());
  need_float(type, attrs);
  type.sizes = reduced_loss_sizes(type.sizes, loss_reduction(attrs));
  return {type};
}

void refuse_weight_gradient(const VjpArgs& args) {
  if (args.needs.size() < 3 || !args.needs[2]) return;
  throw OpError(ErrorKind::Autograd, spoken_name(args.op) + " has no gradient by its weight", {2},
                "pass weight.detach(), or weigh the loss of each element: reduction=\"none\"");
}

}  // namespace kiln::ops
