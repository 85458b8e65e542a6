// Owns the way from nodes of a graph to a loop nest.
#pragma once

#include <string>

#include "jit/fuse.h"
#include "jit/loops.h"

namespace kiln::jit {

// Why a node cannot be part of a kernel; empty when it can.
std::string why_not_lowered(const Graph& graph, const Node& node);

struct Lowered {
  LoopNest nest;
  std::vector<ValueId> inputs;  // the tensors that the kernel is given, in the order of Load::input
};
Lowered lower(const Graph& graph, const Group& group, std::string name);

}  // namespace kiln::jit
