// Owns what `graph(f, …)` does, and passes by name.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/host/graph_stages.h"
#include "interpreter/values/value.h"
#include "jit/passes/recipes.h"

namespace kiln::interp {
class Interpreter;
}

namespace kiln::interp::host {

// The arguments by name that `**named` collected; their names are those of the dict.
std::vector<std::pair<std::string_view, Value>> named_arguments(const Value& by_name);
// The call f(*arguments, **by_name), of a tuple and a dict.
CapturedCall call_of(Interpreter& interpreter, const Value& f, const Value& arguments, const Value& by_name);
// Of the arguments f, args, stage, named.
Value graph_of_call(Interpreter& interpreter, std::span<Value> arguments);
// The pass of Kiln's of that name; null for one that the program has registered. ValueError that names the
// nearest when there is none.
const jit::Pass* find_pass_named(Interpreter& interpreter, std::string_view name);
// What the pass makes of a graph. CaptureError where there is no compiler for it.
jit::Graph after_pass(const jit::Pass& pass, const jit::Graph& graph);

}  // namespace kiln::interp::host
