// Owns the decision which nodes of a functional graph run together in one kernel, and why others do not.
#pragma once

#include <string>
#include <vector>

#include "jit/levels.h"

namespace kiln::jit {

// Nodes that one kernel computes, all over the same axes; or with reductions, and nodes that have one element
// for each row or column.
struct Group {
  std::vector<int> nodes;  // in order
  Space space;
  std::vector<ValueId> outputs;  // values that something outside of the group needs
  int product = -1;              // the node that it takes along (jit/epilogue.h), where that is known
};

// A value that goes through memory between a node and one that reads it.
struct Unfused {
  int producer = -1;
  int consumer = -1;
  std::string reason;
};

struct Fusion {
  std::vector<Group> groups;  // of two nodes and more, or of one that a large product can take along
  std::vector<int> group_of;  // by node; -1: runs alone, as in eager
  std::vector<Unfused> unfused;
};
// Sentences take longer than what they are about: without them `reason` stays empty.
Fusion find_groups(const Graph& graph, bool with_reasons = true);

// For people: groups with their nodes, then every edge that is not fused with its reason.
std::string print_fusion(const Graph& graph, const Fusion& fusion);

}  // namespace kiln::jit
