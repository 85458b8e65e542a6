// Owns what a graph costs: bytes, arithmetic and time of each of its nodes, against what the machine can do.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"
#include "tensor/cost.h"

namespace kiln::jit {

struct NodeCost : Cost {
  const Node* node = nullptr;
  std::vector<const Op*> ops;  // of a kernel: what it computes, in order; else the node's own
  bool is_kernel = false;
  double seconds = 0;  // the best of several runs
  // The least time that memory or arithmetic would take here, divided by the measured time; nullopt where the
  // arithmetic is unknown. Memory is that which the operands are in: they were touched just before.
  std::optional<double> share;
  std::string_view roof;  // which of them: "L1", "L2", "L3", "memory" or "arithmetic"; empty without a share
};

// Runs the nodes one by one on these arguments, as `evaluate` does, without the effects. Views cost nothing
// and are left out; random numbers go on as if nothing had been drawn. Throws what ops throw.
std::vector<NodeCost> measure(const Graph& graph, Inputs arguments);

}  // namespace kiln::jit
