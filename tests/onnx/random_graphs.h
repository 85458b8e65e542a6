// Owns random graphs that run and that ONNX has a form of, made of the samples of the op table.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::testing {

struct RunnableGraph {
  jit::Graph graph;               // functional
  std::vector<Tensor> arguments;  // one per input
};

// A graph of `count` nodes. Operands are arguments or earlier values of the type that the sample has there.
// All values have been computed once, and are finite.
RunnableGraph random_runnable_graph(unsigned seed, int count);

}  // namespace kiln::testing
