// Owns which product a kernel may take piece by piece: grouping nodes into kernels and ordering programs
// agree on it.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

class ProductsBefore {
 public:
  explicit ProductsBefore(const Graph& graph);
  // The product of f32 or f64, of the sizes of the node's result, that this node alone reads, and once. Only
  // views lie between the two: the product does not keep its operands for long. -1: none.
  int of(int place) const;

 private:
  void use(ValueId id) { ++uses_[static_cast<std::size_t>(id)]; }
  void use(const std::vector<Operand>& operands);

  const Graph& graph_;
  std::vector<int> uses_;  // by value
};

}  // namespace kiln::jit
