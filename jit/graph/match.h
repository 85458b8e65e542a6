// Owns which values of two graphs are the same computation, whatever they are called and in whatever order
// independent nodes stand.
#pragma once

#include <functional>
#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// What an op that is in no table computes (a kernel), as text that is equal for equal ones; empty: its name
// says it.
using OpText = std::function<std::string(const Op&)>;

// `b` with the names of `a` for the values that are the same, and with the nodes that give them in the order
// of `a`. Values are the same when they come by the same op, with the same attributes, from the same values;
// inputs, by their position. Nodes that write or draw are the same only behind the same writes and draws. A
// node without a counterpart stands behind what it reads; where a node of `a` is left that is of the same op
// and in the same order among those that are left, it has the names of that one.
Graph named_like(const Graph& a, const Graph& b, const OpText& text_of_op = {});

}  // namespace kiln::jit
