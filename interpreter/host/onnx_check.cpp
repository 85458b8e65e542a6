#include "interpreter/host/onnx_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/graph/evaluate.h"
#include "jit/runtime/compare.h"
#include "onnx/import/import.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"
#include "tensor/host_view.h"

namespace kiln::interp::host {
namespace {

// ---- Both runs ----

// What the model gives for the inputs of the graph, in the order of its outputs.
jit::Graph with_written_results(jit::Graph graph) {
  graph = jit::at_hints(std::move(graph));
  std::erase_if(graph.outputs,
                [](const jit::Operand& each) { return !each.is_value() && !each.is_number(); });
  for (const jit::Effect& each : graph.effects) {
    if (each.kind != jit::Effect::Kind::Same && each.value >= 0 && each.member < 0)
      graph.outputs.push_back(jit::Operand::of(each.value));
  }
  graph.effects.clear();
  return graph;
}

std::vector<Tensor> arguments_of(const jit::Graph& at_hints, const ExportedCall& call) {
  std::vector<Tensor> arguments(call.given.begin(), call.given.end());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorType type = jit::evaluate(at_hints.values[i].type, {});
    if (!arguments[i]) arguments[i] = ops::ones(type.sizes, type.dtype, type.device);
  }
  return arguments;
}

// Complex numbers are pairs of parts in a model.
Tensor as_tensor(const Tensor& x, Device device) {
  if (is_complex(x.dtype())) return as_tensor(ops::clone(ops::view_as_real(x)), device);
  return x.is_number() ? ops::full({}, x, x.dtype(), device) : ops::to(x, device);
}

// Where the model is run: where the first of the arguments is.
Device device_of(std::span<const Tensor> arguments) {
  const auto first = std::ranges::find_if(arguments, [](const Tensor& each) { return !each.is_number(); });
  return first == arguments.end() ? default_device() : first->device();
}

// In the order of the model: inputs of the graph that are no constants of it, the generator, symbols.
onnx::Values inputs_of(const onnx::ModelProto& model, std::span<const Tensor> arguments,
                       const ExportedCall& call, Device device) {
  onnx::Values inputs;
  const auto add_number = [&](std::int64_t number) {
    inputs.emplace_back(ops::full({}, Tensor::number(number), DType::I64, device));
  };
  const auto is_next = [&](const std::string& name) {
    return inputs.size() < model.graph.inputs.size() && model.graph.inputs[inputs.size()].name == name;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_written = std::ranges::any_of(call.graph.effects, [i](const jit::Effect& each) {
      return static_cast<std::size_t>(each.input) == i;
    });
    if (!call.stored[i] || is_written) inputs.emplace_back(as_tensor(arguments[i], device));
  }
  if (is_next("seed")) {
    add_number(static_cast<std::int64_t>(call.generator.seed));
    add_number(static_cast<std::int64_t>(call.generator.offset));
  }
  while (inputs.size() < model.graph.inputs.size()) {
    const std::string& name = model.graph.inputs[inputs.size()].name;
    const auto known = call.graph.hints.find(name);
    if (known == call.graph.hints.end()) break;
    add_number(known->second);
  }
  return inputs;
}

// ---- Their difference ----

double tolerance_of(DType dtype) {
  return dtype == DType::F16 ? 0x1p-9 : dtype == DType::BF16 ? 0x1p-6 : 1e-5;
}

// As a share of the largest element; infinite where what is no number differs.
double largest_difference(const Tensor& got, const Tensor& wanted) {
  const HostView a(got, DType::F64), b(wanted, DType::F64);
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < wanted.numel().hint(); ++i) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
      continue;
    }
    if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(x - y));
    largest = std::max(largest, std::abs(y));
  }
  return difference == 0 ? 0 : difference / std::max(largest, std::numeric_limits<double>::min());
}

std::string difference_of(const std::string& name, const Tensor& got, const Tensor& wanted) {
  if (!got || got.dtype() != wanted.dtype() || got.sizes() != wanted.sizes())
    return fmt::format("`{}` is {} in the model and {} in the call", name,
                       got ? to_string(got.type()) : "no tensor", to_string(wanted.type()));
  if (!is_float(wanted.dtype()))
    return largest_difference(got, wanted) == 0 ? ""
                                                : fmt::format("`{}` has other integers in the model", name);
  const double difference = largest_difference(got, wanted);
  if (difference <= tolerance_of(wanted.dtype())) return "";
  return std::isinf(difference)
             ? fmt::format("`{}` has other infinities or nans in the model", name)
             : fmt::format("`{}` differs in the model by {:.1e} of its largest element", name, difference);
}

}  // namespace

std::string why_not_run(const onnx::ModelProto& model) {
  const auto foreign = std::ranges::find(model.graph.nodes, "com.microsoft", &onnx::NodeProto::domain);
  return foreign == model.graph.nodes.end()
             ? ""
             : fmt::format("{} is an operator of ONNX Runtime alone", foreign->op_type);
}

std::string model_difference(const onnx::ModelProto& model, const ExportedCall& call) {
  const GradMode unrecorded(false);
  const GeneratorScope draws_nothing;
  const jit::Graph plain = with_written_results(call.graph);
  const std::vector<Tensor> arguments = arguments_of(plain, call);
  onnx::ImportOptions options;
  options.device = device_of(arguments);
  const onnx::Values made =
      onnx::run_model(model, inputs_of(model, arguments, call, options.device), options);
  const jit::Outcome wanted = jit::run_on(
      [&](Inputs given) {
        generator() = call.generator;
        return jit::evaluate(plain, given);
      },
      arguments);
  if (!wanted.error.empty()) return fmt::format("the graph cannot be run again: {}", wanted.error);
  for (std::size_t i = 0; i < wanted.results.size(); ++i) {
    const std::string text = difference_of(model.graph.outputs[i].name, made[i].tensor,
                                           as_tensor(wanted.results[i], options.device));
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace kiln::interp::host
