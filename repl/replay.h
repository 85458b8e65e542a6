// Owns running the graphs of a captured call once more, with what each node gives.
#pragma once

#include <functional>
#include <vector>

#include "interpreter/host/graph_stages.h"

namespace kiln::repl {

// A graph that ran again, for the sizes of the call, and the tensors that it was given.
struct ReplayedGraph {
  jit::Graph graph;
  std::vector<Tensor> arguments;
};
// `graph` counts those that are given back.
using ReplayWatch = std::function<void(std::size_t graph, const jit::Node& node, const Tensors& results)>;

// The functional graph; where an argument requires a gradient, the forward graph and the backward graph, for
// gradients of ones. They run op by op, on what the call was given and with the random numbers that it drew,
// and change nothing. Throws what ops throw, and OpError (Capture) where there is no such graph.
std::vector<ReplayedGraph> replay(const interp::CapturedGraph& captured, jit::Remove remove,
                                  const ReplayWatch& watch);

}  // namespace kiln::repl
