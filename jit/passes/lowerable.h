// Owns which nodes of a functional graph a compiled kernel can compute, and why the others cannot: what loop
// nests can say, and what the target of the node's device takes (jit/passes/target.h).
#pragma once

#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Why a node cannot be part of a kernel; empty when it can.
std::string why_not_lowered(const Graph& graph, const Node& node);

// Is the node one that selects elements of tensors in memory, which a kernel can read itself?
bool is_gather_load(const Graph& graph, const Node& node);

// The view of its first operand whose elements the node replaces by its second operand, so that a kernel can
// store them there. Null for a node that does something else.
const Op* placed_view(const Graph& graph, const Node& node);

}  // namespace kiln::jit
