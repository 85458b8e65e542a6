// Owns losses between numbers: each is a composition of smaller ops over all pairs of elements, then reduced.
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"
#include "tensor/warning.h"

namespace kiln {
namespace {

using ops::loss_reduction;
using ops::reduce_loss;

// In the dtype of both together: bools among them have no difference by themselves.
Tensor difference(const Tensor& x, const Tensor& target) {
  const DType dtype = promote(x.dtype(), target.dtype());
  return ops::to(x, dtype) - ops::to(target, dtype);
}

// Sizes that differ are mostly a mistake: of (n, 1) and (n,) each input is compared with every target.
void tell_of_broadcast(const Op& op, Inputs in) {
  const Tensor& x = in[0];
  const Tensor& target = in[1];
  if (x.sizes() == target.sizes() || x.rank() == 0 || target.rank() == 0) return;
  const std::string name(op.name());
  const std::string both = to_string(x.type()) + " and " + to_string(target.type());
  warn_once(name + " of " + both,
            name + ": the input and the target are " + both + ", which broadcast to " +
                to_string(broadcast(x.sizes(), target.sizes(), name)) +
                ": one is compared with several of the other; give both the same shape");
}

std::vector<TensorType> infer_weighted_pair(std::span<const TensorType> in, const Attrs& attrs) {
  if (in[2].is_number) return ops::infer_pair_loss(in, attrs);  // absent
  if (in[2].sizes != broadcast(in[0].sizes, in[1].sizes, attrs.op()->name())) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": the weight is " + to_string(in[2]) + ", the input " +
                      to_string(in[0]) + " and the target " + to_string(in[1]) +
                      "; every element needs a weight",
                  {2, 0}, "give the weight the input's shape, e.g. weight.expand(x.shape)");
  }
  const TensorType pairs[] = {
      {promote(promote(in[0].dtype, in[1].dtype), in[2].dtype), in[0].device, in[0].sizes}, in[1]};
  return ops::infer_pair_loss(pairs, attrs);
}

// With weights the mean is that of as many elements as the weights have together, as in PyTorch.
Tensor weighted_mean(const Tensor& each, const Tensor& weight, const Attrs& attrs) {
  if (!weight) return reduce_loss(each, loss_reduction(attrs));
  const Tensor weighted = each * weight;
  if (loss_reduction(attrs) != ops::LossReduction::Mean) return reduce_loss(weighted, loss_reduction(attrs));
  return ops::sum(weighted) / ops::sum(weight);
}

// |d|^2.
Tensor squared_size(const Tensor& d) {
  if (!is_complex(d.dtype())) return d * d;
  return ops::square(ops::real(d)) + ops::square(ops::imag(d));
}

Tensors mse_loss(const Op& op, Inputs in, const Attrs& attrs) {
  tell_of_broadcast(op, in);
  const Tensor d = difference(in[0], in[1]);
  return {weighted_mean(squared_size(d), in[2], attrs)};
}

Tensors l1_loss(const Op& op, Inputs in, const Attrs& attrs) {
  tell_of_broadcast(op, in);
  return {weighted_mean(ops::abs(difference(in[0], in[1])), in[2], attrs)};
}

// Squares below `knee`, straight above: where(|d| >= knee, knee * (|d| - knee / 2), d^2 / 2). A nan counts as
// square, whose derivative is nan, too; what is straight is kept from squares, whose derivative may be
// infinite.
Tensor bent(const Tensor& x, const Tensor& target, double knee) {
  const Tensor d = difference(x, target);
  const Tensor size = ops::abs(d);
  const Tensor outside = ops::ge(size, Tensor::number(knee));
  const Tensor near = ops::masked_fill(d, outside, Tensor::number(0.0));
  return ops::where(outside, (size - 0.5 * knee) * knee, squared_size(near) * 0.5);
}

double positive(const Attrs& attrs, std::string_view name, bool or_zero) {
  const double value = attrs.get<double>(name);
  if (value > 0 || (or_zero && value == 0)) return value;
  throw OpError(ErrorKind::Value,
                std::string(attrs.op()->name()) + ": " + std::string(name) + " must be " +
                    (or_zero ? "0 or more" : "more than 0") + ", not " + std::to_string(value),
                {}, "it is the distance at which squares turn into absolute values");
}

Tensors smooth_l1_loss(const Op& op, Inputs in, const Attrs& attrs) {
  tell_of_broadcast(op, in);
  const double beta = positive(attrs, "beta", true);
  if (beta == 0) return {reduce_loss(ops::abs(difference(in[0], in[1])), loss_reduction(attrs))};
  return {reduce_loss(bent(in[0], in[1], beta) * (1.0 / beta), loss_reduction(attrs))};
}

// Here PyTorch's mean with weights is that of all elements.
Tensors huber_loss(const Op& op, Inputs in, const Attrs& attrs) {
  tell_of_broadcast(op, in);
  const Tensor each = bent(in[0], in[1], positive(attrs, "delta", false));
  return {reduce_loss(in[2] ? each * in[2] : each, loss_reduction(attrs))};
}

// ---- Binary cross entropy --------------------------------------------------------------------------------

std::vector<TensorType> infer_binary(std::span<const TensorType> in, const Attrs& attrs) {
  if (in[0].sizes != in[1].sizes) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": the input is " + to_string(in[0]) +
                      " and the target " + to_string(in[1]) + "; every element needs a target of its own",
                  {0, 1}, "give the target the input's shape, e.g. target.reshape(x.shape)");
  }
  for (std::size_t i = 2; i < in.size(); ++i) {
    if (broadcastable_to(in[i].sizes, in[0].sizes)) continue;
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": weights of shape " + to_string(in[i].sizes) +
                      " do not broadcast to the input, " + to_string(in[0]),
                  {static_cast<int>(i), 0}, "give one weight per element, or sizes of 1 to share");
  }
  return ops::infer_pair_loss(in, attrs);
}

Tensor weighted(const Tensor& each, const Tensor& weight) { return weight ? each * weight : each; }

// Logarithms are kept above -100, so that a confident mistake costs much but not infinitely much.
Tensor bounded_log(const Tensor& x) { return ops::clamp(ops::log(x), -100.0, {}); }

Tensor bounded_log_rest(const Tensor& x) { return ops::clamp(ops::log1p(-x), -100.0, {}); }
Tensor binary_cross_entropies(const Tensor& x, const Tensor& target) {
  return (target - 1.0) * bounded_log_rest(x) - target * bounded_log(x);
}

Tensor as_shares(const Tensor& x, const char* name) {
  const Tensor holds = ops::logical_and(ops::ge(x, Tensor::number(0.0)), ops::le(x, Tensor::number(1.0)));
  return ops::checked(
      x, holds, std::string("binary_cross_entropy: each element of ") + name + " must be between 0 and 1");
}

Tensors binary_cross_entropy(const Op&, Inputs in, const Attrs& attrs) {
  const Tensor x = as_shares(in[0], "x");
  const Tensor target = as_shares(in[1], "target");
  return {reduce_loss(weighted(binary_cross_entropies(x, target), in[2]), loss_reduction(attrs))};
}

// Near 0 and 1 the derivative is bounded, where that of the composition would be nan.
Tensor cross_entropy_slope(const Tensor& x, const Tensor& target) {
  return (x - target) / ops::clamp((1.0 - x) * x, 1e-12, {});
}
Tensors binary_cross_entropy_vjp(const VjpArgs& args) {
  ops::refuse_weight_gradient(args);
  const Tensor& x = args.inputs[0];
  const Tensor& target = args.inputs[1];
  const Tensor share =
      weighted(ops::spread_loss_grad(args.grads[0], x.sizes(), loss_reduction(args.attrs)), args.inputs[2]);
  Tensors grads(3);
  if (args.needs[0]) grads[0] = ops::to(share * cross_entropy_slope(x, target), x.dtype());
  if (args.needs[1]) grads[1] = ops::to(share * (bounded_log_rest(x) - bounded_log(x)), target.dtype());
  return grads;
}
Tensors binary_cross_entropy_jvp(const JvpArgs& args) {
  const Tensor &x = args.inputs[0], &target = args.inputs[1];
  Tensor change;
  const auto add = [&](const Tensor& part) { change = change ? change + part : part; };
  if (args.tangents[0]) add(weighted(args.tangents[0] * cross_entropy_slope(x, target), args.inputs[2]));
  if (args.tangents[1])
    add(weighted(args.tangents[1] * (bounded_log_rest(x) - bounded_log(x)), args.inputs[2]));
  if (args.tangents[2]) add(binary_cross_entropies(x, target) * args.tangents[2]);
  if (!change) return Tensors(1);
  return {ops::to(reduce_loss(change, loss_reduction(args.attrs)), args.outputs[0].dtype())};
}
// As one loss of all examples, element by element, so that these derivatives are theirs too.
Tensors binary_cross_entropy_batch(const BatchArgs& args) {
  const int rank = args.inputs[0].rank() - (args.batched[0] ? 1 : 0);
  Dims sizes{args.batch_size};
  for (int d = 0; d < rank; ++d) sizes.push_back(args.inputs[0].size(d + (args.batched[0] ? 1 : 0)));
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (args.batched[i]) inputs[i] = rules::pad_rank(inputs[i], rank);
    if (i < 2) inputs[i] = ops::expand(inputs[i], sizes);
  }
  Attrs each = args.attrs;
  const Tensor losses = bind(args.op, inputs, each.set("reduction", std::string("none")))[0];
  const auto& reduction = args.attrs.get<std::string>("reduction");
  Dims dims;
  for (int d = 1; d <= rank; ++d) dims.push_back(d);
  if (rank == 0 || reduction == "none") return {losses};
  return {reduction == "sum" ? ops::sum(losses, dims, false) : ops::mean(losses, dims, false)};
}

// log(sigmoid(x)) for the share `target`, log(1 - sigmoid(x)) = log(sigmoid(x)) - x for the rest.
Tensors with_logits(const Op&, Inputs in, const Attrs& attrs) {
  const Tensor& x = in[0];
  const Tensor& target = in[1];
  const Tensor log_yes = ops::log_sigmoid(x);
  const Tensor yes = in[3] ? log_yes * ((in[3] - 1.0) * target + 1.0) : log_yes;
  const Tensor each = (1.0 - target) * x - yes;
  return {reduce_loss(weighted(each, in[2]), loss_reduction(attrs))};
}

// ---- Divergence ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_divergence(std::span<const TensorType> in, const Attrs& attrs) {
  if (attrs.get<std::string>("reduction") != "batchmean") return ops::infer_pair_loss(in, attrs);
  Attrs summed = attrs;
  return ops::infer_pair_loss(in, summed.set("reduction", std::string("sum")));
}

// target * (log(target) - x), 0 where the target is 0; x and, if asked, the target are logarithms.
Tensors kl_div(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = promote(in[0].dtype(), in[1].dtype());
  const Tensor x = ops::to(in[0], dtype), target = ops::to(in[1], dtype);
  Tensor each;
  if (attrs.get<bool>("log_target")) {
    each = ops::exp(target) * (target - x);
  } else {
    const Tensor safe = ops::masked_fill(target, ops::eq(target, Tensor::number(0.0)), Tensor::number(1.0));
    each = target * (ops::log(safe) - x);
  }
  if (attrs.get<std::string>("reduction") != "batchmean") return {reduce_loss(each, loss_reduction(attrs))};
  const Dim batch = each.rank() == 0 ? Dim(1) : each.size(0);
  return {ops::sum(each) / batch};
}

// A loss of the size of differences, which complex numbers have, too; weights, the third operand, are real.
Op distance_row(std::string_view signature, std::string_view documentation, std::string_view example,
                InferFn infer, BodyFn body) {
  Op row = ops::loss_row(signature, documentation, example, infer, body);
  row.complex = ComplexRule::Computes;
  row.complex.beside = 1U << 2;
  return row;
}

}  // namespace

void add_loss_ops(OpTable& table) {
  using ops::infer_pair_loss;
  using ops::loss_row;
  table.add(distance_row(
      "mse_loss(x: tensor, target: tensor, reduction: str[\"mean\", \"sum\", \"none\"] = \"mean\", weight: "
      "tensor? = none)",
      "The squared difference of each pair of elements, times its weight, reduced: the mean is over "
      "the sum of the weights.",
      ">>> mse_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).item()\n2.0", infer_weighted_pair, mse_loss));
  table.add(distance_row(
      "l1_loss(x: tensor, target: tensor, reduction: str[\"mean\", \"sum\", \"none\"] = \"mean\", weight: "
      "tensor? = none)",
      "The absolute difference of each pair of elements, times its weight, reduced: the mean is over "
      "the sum of the weights.",
      ">>> l1_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).item()\n1.0", infer_weighted_pair, l1_loss));
  table.add(distance_row(
      "smooth_l1_loss(x: tensor, target: tensor, reduction: str[\"mean\", \"sum\", \"none\"] = \"mean\", "
      "beta: float = 1.0)",
      "Half the squared difference over `beta` where it is below `beta`, else the absolute difference less "
      "beta / 2.",
      ">>> smooth_l1_loss(tensor([0.0]), tensor([3.0])).item()\n2.5", infer_pair_loss, smooth_l1_loss));
  table.add(distance_row(
      "huber_loss(x: tensor, target: tensor, reduction: str[\"mean\", \"sum\", \"none\"] = \"mean\", delta: "
      "float = 1.0, weight: tensor? "
      "= none)",
      "Half the squared difference where it is below `delta`, else delta * (absolute difference - delta / "
      "2).",
      ">>> huber_loss(tensor([0.0]), tensor([3.0]), delta=2.0).item()\n4.0", infer_weighted_pair,
      huber_loss));
  Op binary = loss_row(
      "binary_cross_entropy(x: tensor, target: tensor, weight: tensor? = none, reduction: str[\"mean\", "
      "\"sum\", \"none\"] = \"mean\")",
      "-(target * log(x) + (1 - target) * log(1 - x)) for probabilities x, reduced. Logarithms below -100 "
      "count "
      "as -100.",
      ">>> binary_cross_entropy(tensor([1.0, 0.0]), tensor([1.0, 0.0])).item()\n0.0", infer_binary,
      binary_cross_entropy);
  binary.vjp = binary_cross_entropy_vjp;
  binary.jvp = binary_cross_entropy_jvp;
  binary.batch = binary_cross_entropy_batch;
  binary.effects |= kMayFail;
  binary.saves = saves_input(0) | saves_input(1) | saves_input(2);
  table.add(std::move(binary));
  table.add(loss_row(
      "binary_cross_entropy_with_logits(x: tensor, target: tensor, weight: tensor? = none, reduction: "
      "str[\"mean\", \"sum\", \"none\"] = "
      "\"mean\", pos_weight: tensor? = none)",
      "`binary_cross_entropy` of sigmoid(x), without leaving the logarithms. `pos_weight` weighs the targets "
      "that "
      "are 1.",
      ">>> binary_cross_entropy_with_logits(tensor([100.0]), tensor([1.0])).item() < 1e-6\ntrue",
      infer_binary, with_logits));
  table.add(
      loss_row("kl_div(x: tensor, target: tensor, reduction: str[\"mean\", \"sum\", \"batchmean\", "
               "\"none\"] = \"mean\", log_target: bool = false)",
               "target * (log(target) - x) for log-probabilities x, reduced; \"batchmean\" divides the "
               "sum by the first "
               "size. With `log_target` the target is a logarithm too.",
               ">>> kl_div(zeros(2), zeros(2), log_target=true).item()\n0.0", infer_divergence, kl_div));
}

}  // namespace kiln
