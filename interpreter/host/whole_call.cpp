#include "interpreter/host/whole_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "interpreter/host/program_state.h"
#include "interpreter/host/pytree.h"
#include "interpreter/values/raise.h"

namespace kiln::interp::host {
namespace {

// What the graph has for an argument at the end of the call; absent for one that it does not read, that
// shares memory with another one, or whose layout the call changes.
jit::Operand argument_operand(const jit::Graph& graph, const CapturedGraph& captured,
                              const Tensor& argument) {
  const std::vector<int> arguments = captured.graph.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto at = static_cast<std::size_t>(arguments[i]);
    if (arguments[i] < 0 || at >= captured.arguments.size() || !captured.arguments[at].is_same(argument))
      continue;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
      if (graph.values[k].name != captured.graph.values[i].name) continue;
      auto last = static_cast<jit::ValueId>(k);
      for (const jit::Effect& effect : graph.effects) {
        if (effect.input != static_cast<jit::ValueId>(k) || effect.kind == jit::Effect::Kind::Same) continue;
        if (effect.kind != jit::Effect::Kind::Write) return {};
        last = effect.value;
      }
      return jit::Operand::of(last);
    }
  }
  return {};
}

}  // namespace

bool give_every_result(jit::Graph& graph, const CapturedGraph& captured, const Value& result) {
  const std::vector<Tensor> given = tensors_in(result);
  std::vector<jit::Operand> outputs;
  std::size_t next = 0;  // of the outputs that are there
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto before = std::find_if(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const Tensor& each) { return each.is_same(given[i]); });
    if (before - given.begin() < static_cast<std::ptrdiff_t>(i)) {
      outputs.push_back(outputs[static_cast<std::size_t>(before - given.begin())]);
    } else if (const jit::Operand argument = argument_operand(graph, captured, given[i]);
               argument.is_value()) {
      outputs.push_back(argument);
    } else if (next < graph.outputs.size()) {
      outputs.push_back(graph.outputs[next++]);
    } else {
      return false;
    }
  }
  // Other outputs are for what the program keeps beside the result: which of them is which is not known.
  if (next != graph.outputs.size()) return outputs.size() == next;
  graph.outputs = std::move(outputs);
  return true;
}

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
