#include "interpreter/host/gradient_run.h"

#include "interpreter/host/graph_stages.h"
#include "jit/graph/evaluate.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"
#include "tensor/interrupt.h"

namespace kiln::interp::host {

jit::Graph with_saved(jit::Graph forward) {
  for (const jit::ValueId id : forward.saved) forward.outputs.push_back(jit::Operand::of(id));
  return forward;
}

std::vector<Tensor> backward_arguments(const jit::Partition& pair, Inputs arguments,
                                       std::span<const Tensor> made) {
  std::vector<Tensor> given;
  const SymbolValues symbols = jit::bind_symbols(pair.forward, arguments, pair.forward.hints);
  for (const std::string& each : pair.report.sizes) given.push_back(Tensor::number(symbols.at(each)));
  const std::span<const Tensor> saved = made.subspan(pair.forward.outputs.size());
  given.insert(given.end(), saved.begin(), saved.end());
  for (std::size_t i = given.size(); i < pair.backward.inputs.size(); ++i) {
    const TensorType type = jit::evaluate(pair.backward.values[i].type, symbols);
    given.push_back(kiln::ops::ones(type.sizes, type.dtype, type.device));
  }
  return given;
}

std::vector<CapturedGraph> what_runs(const CapturedGraph& captured) {
  if (wants_no_gradient(captured)) return {captured};
  try {
    const jit::Partition pair = gradients_of(captured).parts;
    const kiln::GradMode off(false);
    const kiln::GeneratorScope draws_nothing;
    jit::Graph forward = jit::at_hints(with_saved(pair.forward));
    forward.effects.clear();
    const Tensors made = jit::evaluate(forward, captured.arguments);
    std::vector<CapturedGraph> both(2);
    both[0].graph = pair.forward;
    both[0].arguments = captured.arguments;
    both[1].graph = pair.backward;
    both[1].arguments = backward_arguments(pair, captured.arguments, {made.data(), made.size()});
    return both;
  } catch (const OpError&) {  // there is no graph of its gradients
    check_interrupt();
    return {captured};
  }
}

}  // namespace kiln::interp::host
