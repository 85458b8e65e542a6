// Owns the stages of a graph by name: what each is and how it is made of a captured graph.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "interpreter/capture/stages.h"
#include "interpreter/values/value.h"
#include "jit/autodiff/gradient_graphs.h"
#include "jit/loops/code_line.h"
#include "jit/passes/functionalize.h"

namespace kiln::interp::host {

// What a stage is made from.
struct StageInput {
  const CapturedGraph& captured;
  jit::Remove remove = jit::Remove::Mutations;
};

// What a stage is: a graph, or lines about one.
struct StageMade {
  jit::Graph graph;  // the stage; with lines, the graph with kernels that they are about
  std::optional<jit::CodeLines> lines;
};

struct StageRow {
  std::string_view name;
  std::string_view summary;  // one line, for help
  // Throws OpError (Capture) for a graph that has no such stage.
  StageMade (*make)(const StageInput& input);
  std::optional<Device::Kind> of = std::nullopt;  // code of kernels on that kind of device; none: of any
};

// Of a graph of its own: by the arguments that require gradients, or by all floats where none does.
jit::GradientGraphs gradients_of(const CapturedGraph& captured);
// Is no gradient asked for, so that those of all floats are shown?
bool wants_no_gradient(const CapturedGraph& captured);
// Why its gradients run op by op under the tape in this call, rather than as graphs; empty: they do not.
std::string left_to_the_tape(const CapturedGraph& captured);

// Is there code of this stage for kernels on the devices of the graph? True of stages that are no code.
bool concerns(const StageRow& row, const jit::Graph& graph);
// In the order in which they come about.
std::span<const StageRow> stages();
// ValueError that names the nearest when there is none.
const StageRow& stage_named(std::string_view name);
// As one list, for messages: "captured, functional".
std::string stage_names();

// One call, in stretches between breaks; some tell only of a break.
struct CapturedCall {
  std::vector<CapturedGraph> parts;
  jit::Remove remove = jit::Remove::Mutations;  // as `functionalize` was asked to
  Value result{};                               // what the call gave

  std::vector<const CapturedGraph*> graphs() const;  // those that run ops
};
// False when it tells only of a break.
inline bool has_graph(const CapturedGraph& part) {
  return !part.graph.nodes.empty() || part.break_reason.empty();
}
// Calls `f` once. A graph without arguments is its own and is not run. TypeError unless `f` can be called.
CapturedCall captured_call(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                           std::span<const std::pair<std::string_view, Value>> named);
// Where and why its stretches end before the call does.
std::vector<GraphBreak> breaks_of(const CapturedCall& call);
// Of a call that has no graph: "the call runs no op", or what came in the way.
std::string why_no_graph(const CapturedCall& call);
// A stage of one of them, with its guards. Nodes name those of the captured graph that they come from where
// these were numbered (jit/graph/lineage.h); those of forward and backward graphs name nodes of the joint
// graph.
StageMade stage_made(const StageRow& stage, const CapturedGraph& captured, jit::Remove remove);
// The same stage as a value of the language: a graph or a text.
Value stage_value(const StageRow& stage, const CapturedGraph& captured, jit::Remove remove);

}  // namespace kiln::interp::host
