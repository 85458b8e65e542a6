// Owns what functionalization tells those who ask for more than the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// What is left behind: view ops, or only copies.
enum class Remove : std::uint8_t { Mutations, MutationsAndViews };
// A captured graph without writes, with the values that each captured node was given and made. A write makes
// what the op computes, before it is cast and put into the base.
struct Functionalized {
  struct Values {
    std::vector<Operand> operands;
    std::vector<ValueId> results;
  };
  Graph graph;
  std::vector<Values> nodes;
};
Functionalized functionalize_values(const Graph& graph);

}  // namespace kiln::jit
