// Owns random captured programs: views, writes and inputs that share memory, each step run once as it is
// made.
#pragma once

#include <functional>

#include "jit/graph/rewrite.h"

namespace kiln::jit::testing {

// Arguments for a captured graph, always of the same elements; inputs of one storage share memory.
std::vector<Tensor> arguments_of(const Graph& graph);

Graph random_program(unsigned seed, int more_steps = 0);

// A smaller graph that still fails: nodes are left out with what depends on them while `fails` holds.
Graph shrunk(Graph graph, const std::function<bool(const Graph&)>& fails);

// What a caller sees of two runs on arguments of the same elements that must not differ: results, arguments,
// what aliases what. Empty when all is equal.
std::string difference(const Graph& captured, const Graph& other);
// Likewise of a graph and whatever else runs it.
using Run = std::function<Tensors(Inputs arguments)>;
std::string difference(const Graph& captured, const Run& other);

}  // namespace kiln::jit::testing
