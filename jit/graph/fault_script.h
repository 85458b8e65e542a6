// Owns a graph as a script of the language that shows what is wrong with it.
#pragma once

#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// A script that compares both ways to run the graph on these arguments (`check`), with gradients by those
// `wanted`. It begins with the difference as a comment; `backend` is as the script has it, with quotes.
std::string script_of(const Graph& graph, Inputs arguments, const std::vector<bool>& wanted,
                      const std::string& difference, const std::string& backend);
// The same of what is wrong with a graph whatever its arguments hold: they are zeros of its sizes.
std::string script_of(const Graph& graph, const std::vector<bool>& wanted, const std::string& wrong);

}  // namespace kiln::jit
