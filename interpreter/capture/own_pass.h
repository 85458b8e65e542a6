// Owns passes written by the program: functions that are given a graph and give it edited.
#pragma once

#include <string_view>
#include <vector>

#include "interpreter/values/own_pass.h"
#include "jit/graph/graph.h"

namespace kiln::interp {
class Interpreter;
}

namespace kiln::interp::capture {

// Those that the program has registered, in order.
std::vector<OwnPass>& own_passes(Interpreter& interpreter);
const OwnPass* find_own_pass(Interpreter& interpreter,
                             std::string_view name);  // null where no pass has that name

// What the pass makes of a graph without writes, in which all values have names. It may run in place of the
// graph that it was made of. Throws what the pass throws, TypeError when it gives no graph, and ValueError
// for a graph that is wrong or stands for another function; both name the pass.
jit::Graph run_own(Interpreter& interpreter, const OwnPass& pass, const jit::Graph& graph);

}  // namespace kiln::interp::capture
