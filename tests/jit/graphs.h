// Owns graphs for tests: one node over the samples of an op, and longer random ones.
#pragma once

#include <functional>

#include "jit/graph/rewrite.h"
#include "tests/tensor/samples.h"

namespace kiln::jit::testing {

// Calls `f` with every op of the table, each of its samples, and the graph that applies it once. Ops whose
// shapes depend on data have no graph.
using EachSample = std::function<void(const Op&, const std::vector<Tensor>& inputs, const Graph&)>;
void for_each_sample(const EachSample& f);

// Present tensors, in order: the arguments of the graph of a sample.
std::vector<Tensor> present(const std::vector<Tensor>& inputs);

// A graph of `count` nodes from samples of all ops, which share inputs where types agree.
Graph random_graph(unsigned seed, int count);

}  // namespace kiln::jit::testing
