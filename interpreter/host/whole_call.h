// Owns calls that leave the program as one graph: what may be in their way, and which tensors go with it.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/host/graph_stages.h"

namespace kiln::interp::host {

// The call f(*positional, **named), made for its graph; then what it changed of the program is taken back.
CapturedCall captured_and_restored(Interpreter& interpreter, const Value& f,
                                   std::span<const Value> positional,
                                   std::span<const std::pair<std::string_view, Value>> named);
// CaptureError where the call has no graph or several, which lists what is in the way. `what` it is to be: "a
// model".
const CapturedGraph& only_graph(const CapturedCall& call, std::string_view what);
// What the call gave, by input of the stage's graph; absent for gradients.
std::vector<Tensor> given_of(const CapturedGraph& captured, const jit::Graph& graph);
// Those of them that the call's arguments are not: parameters and variables from outside.
std::vector<Tensor> stored_of(const CapturedGraph& captured, const jit::Graph& graph,
                              std::vector<Tensor> given);
// Gives the functional graph an output for each tensor that the call gave, in their order, also for arguments
// and for what is given twice. False, with the graph unchanged, where that cannot be: an argument that no op
// reads is given, or the program keeps tensors of the call beside what it gives.
bool give_every_result(jit::Graph& graph, const CapturedGraph& captured, const Value& result);

}  // namespace kiln::interp::host
