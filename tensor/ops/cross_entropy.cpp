// Owns losses against classes: nll_loss with its derivative, cross_entropy written over it.
#include "tensor/ops/class_loss.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

using ops::loss_reduction;
using ops::LossReduction;

// ---- Shapes: x is [classes], [n, classes] or [n, classes, ...], targets are x without the classes ---------

Dims without_classes(const Dims& sizes) {
  Dims result = sizes;
  result.erase(result.begin() + class_dim(sizes.size()));
  return result;
}

Dims with_classes(const Dims& targets, Dim classes) {
  Dims result = targets;
  result.insert(result.begin() + (targets.empty() ? 0 : 1), classes);
  return result;
}

void check_weight(const TensorType& weight, Dim classes, const Attrs& attrs, int operand) {
  if (weight.is_number || weight.sizes == Dims{classes}) return;  // a number: absent
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": the weight is " + to_string(weight) +
                    ", and there are " + std::to_string(classes) + " classes",
                {operand}, "give one weight per class");
}

void check_classes(const TensorType& x, const TensorType& target, const Attrs& attrs) {
  const std::string op(attrs.op()->name());
  ops::need_float(x, attrs);
  if (x.sizes.empty()) {
    throw OpError(ErrorKind::Shape, op + " needs a dimension of classes, and the input is " + to_string(x),
                  {0}, "give [classes] or [n, classes]");
  }
  if (!is_integer(target.dtype)) {
    throw OpError(ErrorKind::DType, op + ": class targets are integers, and this is " + to_string(target),
                  {1}, "convert with target.to(i64)");
  }
  if (target.sizes != without_classes(x.sizes)) {
    throw OpError(ErrorKind::Shape,
                  op + ": an input of " + to_string(x) + " has classes in dimension " +
                      std::to_string(class_dim(x.sizes.size())) + " and needs targets of shape " +
                      to_string(without_classes(x.sizes)) + ", not " + to_string(target),
                  {0, 1}, "one class index per prediction");
  }
}

// ---- nll_loss --------------------------------------------------------------------------------------------

std::vector<TensorType> infer_nll(std::span<const TensorType> in, const Attrs& attrs) {
  check_classes(in[0], in[1], attrs);
  check_weight(in[2], in[0].sizes[static_cast<std::size_t>(class_dim(in[0].sizes.size()))], attrs, 2);
  return {{in[0].dtype, in[0].device, ops::reduced_loss_sizes(in[1].sizes, loss_reduction(attrs)), false}};
}

// The same over smaller ops. Ignored targets pick class 0 with weight 0.
struct TargetClasses {
  Tensor classes, counts, weights;
  TargetClasses(const Tensor& target, const Tensor& weight, DType dtype, const Attrs& attrs) {
    const Tensor ignored = ops::eq(target, Tensor::number(attrs.get<std::int64_t>("ignore_index")));
    classes = ops::masked_fill(ops::to(target, DType::I64), ignored, Tensor::number(std::int64_t{0}));
    counts = ops::logical_not(ignored);
    weights = ops::to(counts, dtype);
    if (weight) {
      const Tensor rows = ops::reshape(classes, Dims{-1});
      const Tensor picked = ops::reshape(ops::index_select(ops::to(weight, dtype), 0, rows), target.sizes());
      weights = ops::where(counts, picked, Tensor::number(0.0));
    }
  }
};

Tensors decompose_nll_loss(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = ops::compute_dtype(in[0].dtype());
  const TargetClasses picked(in[1], in[2], dtype, attrs);
  const int dim = class_dim(in[0].sizes().size());
  const Tensor chosen =
      ops::squeeze(ops::gather(ops::to(in[0], dtype), dim, ops::unsqueeze(picked.classes, dim)), Dims{dim});
  const Tensor each = ops::where(picked.counts, -chosen * picked.weights, Tensor::number(0.0));
  const LossReduction reduction = loss_reduction(attrs);
  if (reduction == LossReduction::None) return {ops::to(each, in[0].dtype())};
  Tensor total = ops::sum(each);
  if (reduction == LossReduction::Mean) total = total / ops::sum(picked.weights);
  return {ops::to(total, in[0].dtype())};
}

Tensors nll_loss_vjp(const VjpArgs& args) {
  ops::refuse_weight_gradient(args);
  const Dims& sizes = args.input_types[0].sizes;
  const Tensor inputs[] = {args.grads[0], args.inputs[1], args.inputs[2]};
  const Dim classes = sizes[static_cast<std::size_t>(class_dim(sizes.size()))];
  static const Op& op = OpTable::get().at("nll_loss_backward");
  return {ops::apply(op, inputs,
                     {{"classes", classes},
                      {"ignore_index", args.attrs.at("ignore_index")},
                      {"reduction", args.attrs.at("reduction")}})[0],
          Tensor(), Tensor()};
}

// ---- Its derivative: -weight * grad at each target's place, 0 elsewhere
// -------------------------------------

std::vector<TensorType> infer_nll_backward(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  const Dim classes = attrs.get<Dim>("classes");
  check_weight(in[2], classes, attrs, 2);
  const Dims expected = ops::reduced_loss_sizes(in[1].sizes, loss_reduction(attrs));
  if (in[0].sizes != expected) {
    throw OpError(ErrorKind::Shape,
                  "nll_loss_backward: the gradient is " + to_string(in[0]) + " and the loss has shape " +
                      to_string(expected),
                  {0}, "give the gradient of the loss");
  }
  return {{in[0].dtype, in[0].device, with_classes(in[1].sizes, classes), false}};
}

Tensors decompose_nll_loss_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = ops::compute_dtype(in[0].dtype());
  const Dim classes = attrs.get<Dim>("classes");
  const TargetClasses picked(in[1], in[2], dtype, attrs);
  Tensor share = ops::to(in[0], dtype);
  if (loss_reduction(attrs) == LossReduction::Mean) share = share / ops::sum(picked.weights);
  const int dim = in[1].rank() == 0 ? 0 : 1;
  const Tensor each = ops::unsqueeze(-(share * picked.weights), dim);
  Dims sizes(static_cast<std::size_t>(in[1].rank()) + 1, 1);
  sizes[static_cast<std::size_t>(dim)] = classes;
  const Tensor numbers = ops::reshape(rules::counting(classes, in[1].device()), sizes);
  const Tensor here = ops::logical_and(ops::eq(ops::unsqueeze(picked.classes, dim), numbers),
                                       ops::unsqueeze(picked.counts, dim));
  return {ops::to(ops::where(here, each, Tensor::number(0.0)), in[0].dtype())};
}

// ---- cross_entropy ---------------------------------------------------------------------------------------

std::vector<TensorType> infer_cross_entropy(std::span<const TensorType> in, const Attrs& attrs) {
  const double smoothing = attrs.get<double>("label_smoothing");
  if (!(smoothing >= 0.0 && smoothing <= 1.0)) {
    throw OpError(ErrorKind::Value,
                  "cross_entropy: label_smoothing must be between 0 and 1, not " + std::to_string(smoothing),
                  {}, "it is the share of each target that is spread over all classes");
  }
  if (!is_float(in[1].dtype)) return infer_nll(in, attrs);
  ops::need_float(in[0], attrs);
  if (in[1].sizes != in[0].sizes || in[0].sizes.empty()) {
    throw OpError(ErrorKind::Shape,
                  "cross_entropy: targets that are probabilities need the input's shape: the input is " +
                      to_string(in[0]) + ", the target " + to_string(in[1]),
                  {0, 1}, "or give class indices: target.to(i64)");
  }
  check_weight(in[2], in[0].sizes[static_cast<std::size_t>(class_dim(in[0].sizes.size()))], attrs, 2);
  return {{in[0].dtype, in[0].device,
           ops::reduced_loss_sizes(without_classes(in[0].sizes), loss_reduction(attrs)), false}};
}

// Per-class weights so that they broadcast against the input.
Tensor weight_along(const Tensor& weight, const Tensor& x, int dim) {
  Dims sizes(static_cast<std::size_t>(x.rank()), 1);
  sizes[static_cast<std::size_t>(dim)] = weight.size(0);
  return ops::reshape(ops::to(weight, x.dtype()), sizes);
}

Tensor probability_loss(const Tensor& log_p, const Tensor& target, const Tensor& weight, const Attrs& attrs) {
  const int dim = class_dim(log_p.sizes().size());
  const double smoothing = attrs.get<double>("label_smoothing");
  const auto classes = static_cast<double>(log_p.size(dim));
  Tensor share = target;
  if (smoothing > 0) share = share * (1.0 - smoothing) + smoothing / classes;
  const Tensor gained = weight ? log_p * share * weight_along(weight, log_p, dim) : log_p * share;
  const Tensor each = -ops::sum(gained, Dims{dim});
  return ops::reduce_loss(each, loss_reduction(attrs));
}

// The share of the loss that label smoothing spreads over all classes.
Tensor smooth_loss(const Tensor& log_p, const Tensor& target, const Tensor& weight, const Attrs& attrs) {
  const int dim = class_dim(log_p.sizes().size());
  const TargetClasses picked(target, weight, log_p.dtype(), attrs);
  const Tensor all = -ops::sum(weight ? log_p * weight_along(weight, log_p, dim) : log_p, Dims{dim});
  const Tensor each = ops::where(picked.counts, all, Tensor::number(0.0));
  const LossReduction reduction = loss_reduction(attrs);
  if (reduction == LossReduction::None) return each;
  const Tensor total = ops::sum(each);
  return reduction == LossReduction::Mean ? total / ops::sum(picked.weights) : total;
}

Tensors cross_entropy(const Op&, Inputs in, const Attrs& attrs) {
  const int dim = class_dim(in[0].sizes().size());
  const Tensor log_p = ops::log_softmax(in[0], dim);
  if (is_float(in[1].dtype())) return {probability_loss(log_p, in[1], in[2], attrs)};
  static const Op& nll_op = OpTable::get().at("nll_loss");
  const Tensor inputs[] = {log_p, in[1], in[2]};
  const Tensor loss = ops::apply(
      nll_op, inputs, {{"ignore_index", attrs.at("ignore_index")}, {"reduction", attrs.at("reduction")}})[0];
  const double smoothing = attrs.get<double>("label_smoothing");
  if (smoothing == 0) return {loss};
  const auto classes = static_cast<double>(log_p.size(dim));
  return {loss * (1.0 - smoothing) + smooth_loss(log_p, in[1], in[2], attrs) * (smoothing / classes)};
}

void add_nll_rows(OpTable& table) {
  Op loss = ops::loss_row(
      "nll_loss(x: tensor, target: tensor, weight: tensor? = none, ignore_index: int = -100, reduction: "
      "str[\"mean\", \"sum\", \"none\"] "
      "= "
      "\"mean\")",
      "Minus the log-probability that x, [n, classes, ...], gives each target class, times the class's "
      "weight. "
      "The mean is over the weights. Targets equal to `ignore_index` do not count.",
      ">>> nll_loss(tensor([[-1.0, -2.0], [-3.0, -4.0]]), tensor([0, 1])).item()\n2.5", infer_nll,
      decompose_nll_loss);
  loss.vjp = nll_loss_vjp;
  loss.effects = kMayFail;
  loss.saves = saves_input(1) | saves_input(2);
  table.add(std::move(loss));
  Op backward = ops::composite_row(
      "nll_loss_backward(grad: tensor, target: tensor, weight: tensor? = none, classes: int, ignore_index: "
      "int = "
      "-100, reduction: str[\"mean\", \"sum\", \"none\"] = \"mean\")",
      "The gradient of nll_loss: -weight * grad at each target's place, 0 elsewhere.",
      ">>> nll_loss_backward(tensor(2.0), tensor([1]), classes=2).tolist()\n[[0.0, -2.0]]",
      infer_nll_backward, decompose_nll_loss_backward);
  backward.effects = kMayFail;
  table.add(std::move(backward));
}

}  // namespace

void add_class_loss_ops(OpTable& table) {
  add_nll_rows(table);
  Op entropy = ops::loss_row(
      "cross_entropy(x: tensor, target: tensor, weight: tensor? = none, ignore_index: int "
      "= -100, reduction: str[\"mean\", \"sum\", \"none\"] = "
      "\"mean\", label_smoothing: float = 0.0)",
      "`nll_loss` of log_softmax(x): logits x of [classes] or [n, classes, ...] against "
      "class indices, or against "
      "probabilities of the shape of x. `label_smoothing` spreads that share of each "
      "target over all classes.",
      ">>> cross_entropy(tensor([[100.0, 0.0]]), tensor([0])).item()\n0.0", infer_cross_entropy,
      cross_entropy);
  entropy.effects = kMayFail;
  table.add(std::move(entropy));
}

}  // namespace kiln
