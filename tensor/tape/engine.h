// Owns the walk from outputs back to leaves.
#pragma once

#include <span>
#include <vector>

#include "tensor/tape/node.h"

namespace kiln::tape {

struct Walk {
  std::span<const Edge> roots;
  std::span<const Tensor> root_grads;  // one per root, of its type
  std::span<const Edge> wanted;        // whose gradients to return
  bool into_leaves = false;  // add into `grad` of every leaf reached; else only the way to `wanted` is run
  bool retain_graph = false;
  bool create_graph = false;
  std::span<const Edge> ends = {};  // goes no further than to their nodes
};

// Gradients of `wanted`, absent where the roots do not depend on it. Nodes run youngest first, each once,
// when everything that flows into it is there; sums are made in the order of arrival, so results are the same
// every time. Throws what derivatives and hooks throw, OpError (Interrupted), and InternalError when a
// derivative returns gradients of a wrong count or shape.
std::vector<Tensor> run(const Walk& walk);

}  // namespace kiln::tape
