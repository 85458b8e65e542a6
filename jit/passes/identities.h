// Owns the identities of `simplify` beside those of views: which node has the elements of one of its
// operands, or of what those were made from, for every input and to the bit.
#pragma once

#include <span>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct Site {
  const Graph& graph;
  std::span<const int> producers;
  const Node& node;

  // The node that makes an operand; null when none does.
  const Node* maker(const Operand& operand) const;
  const Type& type(ValueId id) const { return graph.values[static_cast<std::size_t>(id)].type; }
};

// An earlier value with the elements of the node's only result, kAbsent when none is known. Its type may
// differ, which the caller checks.
ValueId same_elements(const Site& site);

// The scatter that undoes a view, and the view: with equal attributes they speak of the same places.
bool is_scatter_of(const Node& scatter, const Node& view);

}  // namespace kiln::jit
