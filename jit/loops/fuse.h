// Owns the decision which nodes of a functional graph run together in one kernel, and the reasons against it.
#pragma once

#include <string>
#include <vector>

#include "jit/graph/levels.h"
#include "jit/loops/code_line.h"
#include "jit/passes/target.h"

namespace kiln::jit {

// Nodes that one kernel computes, all over the same axes. With reductions among them, nodes that have one
// element for each row or column belong to it, too.
struct Group {
  std::vector<int> nodes;  // in order
  Space space;
  std::vector<ValueId> outputs;    // values that something outside of the group needs
  const Target* target = nullptr;  // of the device that all its nodes are on
  int product = -1;                // the product whose epilogue the group is; -1: none is known
};

// A value that is written to memory between its producer and a consumer in another group.
struct Unfused {
  int producer = -1;
  int consumer = -1;
  std::string reason;
};

struct Fusion {
  std::vector<Group> groups;  // of two nodes and more, or of one that can be a large product's epilogue
  std::vector<int> group_of;  // by node; -1: runs alone, as in eager
  std::vector<Unfused> unfused;
};
// Making the reasons takes longer than grouping. Without them `reason` stays empty.
Fusion find_groups(const Graph& graph, bool with_reasons = true);

// For people: groups with their nodes, then every edge that is not fused with its reason.
CodeLines fusion_lines(const Graph& graph, const Fusion& fusion);

}  // namespace kiln::jit
