#include "interpreter/host/whole_call.h"

#include <fmt/format.h>

#include <map>

#include "interpreter/host/program_state.h"
#include "interpreter/values/raise.h"

namespace kiln::interp::host {

CapturedCall captured_and_restored(Interpreter& interpreter, const Value& f,
                                   std::span<const Value> positional,
                                   std::span<const std::pair<std::string_view, Value>> named) {
  std::vector<Value> reached{f};
  reached.insert(reached.end(), positional.begin(), positional.end());
  for (const auto& [name, value] : named) reached.push_back(value);
  const ProgramState before(reached);
  CapturedCall call = captured_call(interpreter, f, positional, named);
  before.restore(call.parts);
  return call;
}

std::vector<Tensor> given_of(const CapturedGraph& captured, const jit::Graph& graph) {
  std::map<std::string, Tensor, std::less<>> known;
  const std::vector<int> arguments = captured.graph.arguments();
  for (std::size_t i = 0; i < captured.graph.inputs.size(); ++i) {
    const auto at = static_cast<std::size_t>(arguments[i]);
    if (arguments[i] >= 0 && at < captured.given.size())
      known[captured.graph.values[i].name] = captured.given[at];
  }
  std::vector<Tensor> given(graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto found = known.find(graph.values[i].name);
    if (found != known.end() && graph.inputs[i].role != jit::Role::Grad) given[i] = found->second;
  }
  return given;
}

std::vector<Tensor> stored_of(const CapturedGraph& captured, const jit::Graph& graph,
                              std::vector<Tensor> given) {
  for (std::size_t i = 0; i < captured.graph.inputs.size(); ++i) {
    if (captured.graph.inputs[i].role != jit::Role::Argument) continue;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
      if (graph.values[k].name == captured.graph.values[i].name) given[k] = {};
    }
  }
  return given;
}

const CapturedGraph& only_graph(const CapturedCall& call, std::string_view what) {
  const std::vector<const CapturedGraph*> all = call.graphs();
  if (all.empty()) raise("CaptureError", "there is no graph: " + why_no_graph(call));
  const std::vector<GraphBreak> breaks = breaks_of(call);
  if (all.size() == 1 && breaks.empty()) return *all.front();
  std::string reasons;
  for (const GraphBreak& each : breaks)
    reasons += fmt::format("{}{} ({}:{})", reasons.empty() ? "" : "; ", each.reason, each.file, each.line);
  raise("CaptureError", fmt::format("the call is not one graph, as {} is: {}", what, reasons),
        "`breaks(f, …)` lists what is in the way");
}

}  // namespace kiln::interp::host
