// One step of optimizers, as the preview operators of training have it: for each parameter in turn.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// The inputs after the rate and the count: groups of as many tensors as there are parameters.
struct TrainingStep {
  Tensor rate, count;
  std::size_t parameters = 0;
  Tensor group(Call& call, std::size_t which, std::size_t i) const {
    return call.x(2 + which * parameters + i);
  }
};

TrainingStep step_of(Call& call, std::size_t groups) {
  if (call.inputs.size() < 2 + groups || (call.inputs.size() - 2) % groups != 0)
    call.refuse("needs a rate, a count and " + std::to_string(groups) + " tensors for each parameter");
  return {call.x(0), call.x(1), (call.inputs.size() - 2) / groups};
}

Tensor regularized(Call& call, const Tensor& x, const Tensor& gradient) {
  return x * call.real("norm_coefficient", 0) + gradient;
}

// `after` holds what the step gives by group; the results are the first of all parameters, then the second, …
Values by_group(const std::vector<std::vector<Tensor>>& after, std::size_t groups) {
  Values all;
  for (std::size_t g = 0; g < groups; ++g) {
    for (const std::vector<Tensor>& each : after) all.push_back(each[g]);
  }
  return all;
}

Values adagrad(Call& call) {
  const TrainingStep step = step_of(call, 3);
  const Tensor rate = step.rate / (ops::to(step.count, DType::F32) * call.real("decay_factor", 0) + 1.0);
  std::vector<std::vector<Tensor>> after;
  for (std::size_t i = 0; i < step.parameters; ++i) {
    const Tensor x = step.group(call, 0, i), g = regularized(call, x, step.group(call, 1, i));
    const Tensor squares = step.group(call, 2, i) + g * g;
    after.push_back(
        {ops::to(x - rate * g / (ops::sqrt(squares) + call.real("epsilon", 0)), x.dtype()), squares});
  }
  return by_group(after, 2);
}

Values adam(Call& call) {
  const TrainingStep step = step_of(call, 4);
  const double alpha = call.real("alpha", static_cast<double>(0.9F)),
               beta = call.real("beta", static_cast<double>(0.999F));
  const Tensor count = ops::to(step.count, DType::F32);
  const auto missing = [&](double base) { return 1.0 - ops::pow(scalar(base, DType::F32), count); };
  const Tensor corrected = step.rate * ops::sqrt(missing(beta)) / missing(alpha);
  const Tensor rate = ops::where(ops::gt(count, scalar(0, DType::F32)), corrected, step.rate);
  std::vector<std::vector<Tensor>> after;
  for (std::size_t i = 0; i < step.parameters; ++i) {
    const Tensor x = step.group(call, 0, i), g = regularized(call, x, step.group(call, 1, i));
    const Tensor v = step.group(call, 2, i) * alpha + g * (1 - alpha);
    const Tensor h = step.group(call, 3, i) * beta + g * g * (1 - beta);
    const Tensor moved = x - rate * (v / (ops::sqrt(h) + call.real("epsilon", 0)));
    after.push_back({moved * (1 - call.real("norm_coefficient_post", 0)), v, h});
  }
  return by_group(after, 3);
}

Values momentum(Call& call) {
  const TrainingStep step = step_of(call, 3);
  const double alpha = call.real("alpha", 0), beta = call.real("beta", 0);
  const Tensor is_first = ops::le(step.count, scalar(0, step.count.dtype()));
  std::vector<std::vector<Tensor>> after;
  for (std::size_t i = 0; i < step.parameters; ++i) {
    const Tensor x = step.group(call, 0, i), g = regularized(call, x, step.group(call, 1, i));
    const Tensor v = step.group(call, 2, i) * alpha + ops::where(is_first, g, g * beta);
    const Tensor change = call.word("mode", "standard") == "nesterov" ? g + v * alpha : v;
    after.push_back({x - step.rate * change, v});
  }
  return by_group(after, 2);
}

constexpr Operator kTrainingOperators[] = {
    {"Adagrad", adagrad, "ai.onnx.preview.training"},
    {"Adam", adam, "ai.onnx.preview.training"},
    {"Momentum", momentum, "ai.onnx.preview.training"},
};

}  // namespace

std::span<const Operator> training_operators() { return kTrainingOperators; }

}  // namespace kiln::onnx
