// Owns nests without reductions that are also printed with a vector of neighbours for each thread: which they
// are, and which launches take those.
#pragma once

#include <string>
#include <vector>

#include "jit/cuda/arguments.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

// Elements of a vector, 0 where a nest has none: what moves at once has 16 bytes of its widest elements. Long
// computations wait for no memory, and would be long texts.
int vector_width(const LoopNest& nest);
// Of tensors in memory; others are numbers, or drawn.
bool is_loaded_in_vectors(const Load& load);

// The function beside that of one element for each thread.
inline std::string by_vectors(const std::string& symbol) { return symbol + "_vectors"; }

// For one choice of layouts and sizes: operands that must begin where vectors may.
struct VectorPlan {
  int width =
      0;  // 0: neighbours do not lie together, or not whole vectors of them along all axes but the last
  struct Operand {
    std::size_t number, bytes;  // of a vector
  };
  std::vector<Operand> operands;
};
// Operands may have one element for all neighbours.
VectorPlan plan_vectors(const LoopNest& nest, const cuda::WalkAxes& axes);
// Does a launch with these operands go by vectors?
bool takes_vectors(const VectorPlan& plan, const ArgumentWords& words);

}  // namespace kiln::jit
