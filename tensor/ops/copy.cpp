// copy, fill and zero: what `copy_`, `fill_` and `zero_` write.
#include "tensor/functions.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

std::vector<TensorType> copy_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs.size() > 1 && !broadcastable_to(inputs[1].sizes, inputs[0].sizes)) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": a " + to_string(inputs[1]) +
                      " does not broadcast to " + to_string(inputs[0].sizes),
                  {0, 1});
  }
  return {inputs[0]};
}

// Nothing of the old value is left in the new one.
Tensors copy_vjp(const VjpArgs& args) {
  Tensors result(2);
  if (args.needs[1]) {
    result[1] = ops::to(ops::sum_to(args.grads[0], args.input_types[1].sizes), args.input_types[1].dtype);
  }
  return result;
}
Tensors copy_jvp(const JvpArgs& args) {
  if (!args.tangents[1]) return Tensors(1);
  return {ops::to(ops::expand(args.tangents[1], args.outputs[0].sizes()), args.outputs[0].dtype())};
}
Tensors copy_batch(const BatchArgs& args) {
  const Tensor target = rules::with_batch(args, 0);
  const Tensor source = args.batched[1] ? rules::pad_rank(args.inputs[1], target.rank() - 1) : args.inputs[1];
  const Tensor inputs[] = {target, source};
  return bind(args.op, inputs, args.attrs);
}

Tensors zero_vjp(const VjpArgs&) { return Tensors(1); }
Tensors zero_jvp(const JvpArgs&) { return Tensors(1); }

void add_copy_row(OpTable& table, std::string_view signature, std::string_view documentation,
                  std::string_view example, Identity identity = {}) {
  table.add({.signature = Signature::parse(signature),
             .family = "elementwise",
             .documentation = documentation,
             .example = example,
             .infer = copy_infer,
             .vjp = copy_vjp,
             .jvp = copy_jvp,
             .batch = copy_batch,
             .lowering = Lowering::Library,
             .identity = identity,
             .traits = kInplace | kCheapToRecompute,
             .onnx = onnx_rules::full_of_operand,
             .complex = ComplexRule::Moves});
}

Tensor write(std::string_view name, const Tensor& target, const Tensor& source) {
  const Op& op = OpTable::get().at(name);
  const Tensor inputs[] = {target, source};
  return bind_inplace(op, inputs, Attrs(op));
}

}  // namespace

void add_copy_ops(OpTable& table) {
  add_copy_row(table, "copy(x: tensor, source: tensor)",
               "The source, cast and broadcast to the dtype and shape of x; `copy_` writes it into x.",
               ">>> zeros(2).copy_(tensor([1, 2])).tolist()\n[1.0, 2.0]", {Identity::Kind::SecondOperand});
  add_copy_row(table, "fill(x: tensor, value: tensor)",
               "The value everywhere, in the dtype and shape of x; `fill_` writes it into x.",
               ">>> zeros(2).fill_(3).tolist()\n[3.0, 3.0]");
  table.add({.signature = Signature::parse("zero(x: tensor)"),
             .family = "elementwise",
             .documentation = "Zeros in the dtype and shape of x; `zero_` writes them into x.",
             .example = ">>> ones(2).zero_().tolist()\n[0.0, 0.0]",
             .infer = copy_infer,
             .vjp = zero_vjp,
             .jvp = zero_jvp,
             .batch = rules::batch_through,
             .lowering = Lowering::Library,
             .traits = kInplace | kCheapToRecompute,
             .onnx = onnx_rules::zeros,
             .complex = ComplexRule::Moves});
}

namespace ops {

Tensor copy_(const Tensor& target, const Tensor& source) { return write("copy", target, source); }
Tensor fill_(const Tensor& target, const Tensor& number) { return write("fill", target, number); }

}  // namespace ops
}  // namespace kiln
