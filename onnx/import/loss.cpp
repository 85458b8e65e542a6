// Losses of classification.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// The loss of each place from logarithms [n, classes, …] and classes [n, …], which are weighted and may be
// ignored.
Tensor class_loss(Call& call, const Tensor& logs, const Tensor& classes, const Tensor& weight) {
  Tensor target = ops::to(classes, DType::I64);
  const AttributeProto* ignored = call.attribute("ignore_index");
  Tensor factor = ops::ones(target.sizes(), logs.dtype());
  if (ignored != nullptr) {
    const Tensor is_ignored = ops::eq(target, Tensor::number(ignored->i));
    factor = ops::where(is_ignored, scalar(0, logs.dtype()), factor);
    target = ops::where(is_ignored, Tensor::number(std::int64_t{0}), target);
  }
  if (weight) {
    const Tensor flat = ops::reshape(target, Dims{target.numel()});
    factor = factor * ops::reshape(ops::index_select(weight, 0, flat), target.sizes());
  }
  const Tensor chosen = ops::squeeze(ops::gather(logs, 1, ops::unsqueeze(target, 1)), Dims{1});
  const Tensor losses = -chosen * factor;
  const std::string reduction = call.word("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return ops::sum(losses);
  return ops::sum(losses) / ops::sum(factor);
}

Values negative_log_likelihood(Call& call) { return {class_loss(call, call.x(0), call.x(1), call.maybe(2))}; }

Values softmax_cross_entropy(Call& call) {
  const Tensor logs = ops::log_softmax(call.x(0), 1);
  return {class_loss(call, logs, call.x(1), call.maybe(2)), logs};
}

constexpr Operator kLossOperators[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const Operator> loss_operators() { return kLossOperators; }

}  // namespace kiln::onnx
