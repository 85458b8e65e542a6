#include "jit/runtime/loop_by_steps.h"

#include "tensor/autograd.h"
#include "tensor/tape/engine.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/saved.h"

namespace kiln::jit {

Tensor without_history(const Tensor& x) { return tape::Saved(x).unpack(x.type()); }

namespace {

FlowResult run_recorded(RunnableFlow& flow, std::span<const FlowValue> inputs) {
  const GradMode records(true);
  return flow.run(inputs);
}

}  // namespace

Tensors back_by_steps(RunnableFlow& flow, const FlowDerivative& derivative,
                      const std::vector<FlowValue>& inputs, std::span<const tape::Edge> histories,
                      const std::function<Tensors(ExitId)>& grads, std::span<const Tensor> sums) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (derivative.wanted()[i]) tape::start_history(inputs[i].tensor, histories[next++]);
  const FlowResult again = run_recorded(flow, inputs);
  const Tensors given = grads(again.exit);
  std::vector<tape::Edge> roots;
  Tensors arrived;
  const auto begin = [&](const tape::Edge& edge, const Tensor& gradient) {
    if (!gradient || !edge) return;
    roots.push_back(edge);
    arrived.push_back(gradient);
  };
  for (std::size_t e = 0; e < sums.size(); ++e) begin(histories[e], sums[e]);
  const std::vector<FlowOutput>& outputs = derivative.outputs(again.exit);
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Tensor& made = outputs[k].value ? again.values[*outputs[k].value].tensor
                                          : inputs[static_cast<std::size_t>(outputs[k].written)].tensor;
    begin(tape::history(made), given[k]);
  }
  const std::vector<Tensor> found = tape::run({.roots = roots,
                                               .root_grads = arrived,
                                               .wanted = histories,
                                               .retain_graph = tape::recording,
                                               .create_graph = tape::recording,
                                               .ends = histories});
  return {found.begin(), found.end()};
}

}  // namespace kiln::jit
