// Owns putting one node in the place of each group of a graph, in an order in which what each reads is there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/loops/fuse.h"

namespace kiln::jit {

// The op that stands for a group, and what it is given.
struct GroupNode {
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs;       // values of the graph
  std::vector<std::string> symbols;  // that it follows
};
// The graph (Stage::Fused) with `nodes`, by group. Nodes of which nothing is left to read stay.
Graph place_groups(const Graph& graph, const Fusion& fusion, std::span<const GroupNode> nodes);

}  // namespace kiln::jit
