#include "repl/replay.h"

#include "interpreter/values/graph_value.h"
#include "jit/graph/evaluate.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"

namespace kiln::repl {
namespace {

class Replay {
 public:
  explicit Replay(const ReplayWatch& watch) : watch_(watch) {}

  void functional(const interp::CapturedGraph& captured, jit::Remove remove) {
    const interp::host::StageRow& row = interp::host::stage_named("functional");
    run(interp::host::stage_made(row, captured, remove).graph, captured.given);
  }

  void pair(const interp::CapturedGraph& captured) {
    const jit::Partition pair = interp::host::gradients_of(captured).parts;
    jit::Graph forward = pair.forward;
    for (const jit::ValueId id : forward.saved) forward.outputs.push_back(jit::Operand::of(id));
    const Tensors made = run(std::move(forward), captured.given);
    graphs.back().graph = pair.forward;
    std::vector<Tensor> given;
    const SymbolValues symbols = jit::bind_symbols(pair.forward, captured.given, pair.forward.hints);
    for (const std::string& each : pair.report.sizes) given.push_back(Tensor::number(symbols.at(each)));
    given.insert(given.end(), made.begin() + static_cast<std::ptrdiff_t>(pair.forward.outputs.size()),
                 made.end());
    for (std::size_t i = given.size(); i < pair.backward.inputs.size(); ++i) {
      const TensorType type = jit::evaluate(pair.backward.values[i].type, symbols);
      given.push_back(ops::ones(type.sizes, type.dtype, type.device));
    }
    run(pair.backward, std::move(given));
  }

  std::vector<ReplayedGraph> graphs;

 private:
  Tensors run(jit::Graph graph, std::vector<Tensor> arguments) {
    const std::size_t number = graphs.size();
    const ReplayedGraph& now = graphs.emplace_back(jit::at_hints(std::move(graph)), std::move(arguments));
    return jit::evaluate(now.graph, now.arguments, [&](const jit::Node& node, const Tensors& results) {
      watch_(number, node, results);
    });
  }

  const ReplayWatch& watch_;
};

}  // namespace

std::vector<ReplayedGraph> replay(const interp::CapturedGraph& captured, jit::Remove remove,
                                  const ReplayWatch& watch) {
  const GradMode off(false);
  const GeneratorScope as_in_the_call(captured.generator);
  Replay replay(watch);
  if (interp::host::wants_no_gradient(captured)) {
    replay.functional(captured, remove);
  } else {
    replay.pair(captured);
  }
  return std::move(replay.graphs);
}

}  // namespace kiln::repl
