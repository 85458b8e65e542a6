// Owns the escape analysis of a graph: which values the caller can reach. Passes may not make one tensor of
// two that the caller can tell apart by writing to them.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

class EscapeAnalysis {
 public:
  explicit EscapeAnalysis(const Graph& graph);

  // Is the value a tensor that the caller has: an input, a result, or one that has replaced such a value?
  bool is_callers(ValueId id) const { return callers_[static_cast<std::size_t>(id)]; }
  // May the value share memory with a tensor that the caller has?
  bool is_reachable(ValueId id) const { return reachable_[static_cast<std::size_t>(memory(id))]; }
  bool may_share_memory(ValueId a, ValueId b) const { return memory(a) == memory(b); }
  // The value that represents all values that may share memory with this one.
  ValueId memory(ValueId id) const;

  // May uses of `id` become uses of `other`, which has the same elements?
  bool may_replace(ValueId id, ValueId other) const;
  void replace(ValueId id, ValueId by);

 private:
  void join(ValueId a, ValueId b);

  std::vector<bool> callers_;
  mutable std::vector<ValueId> parents_;  // a forest: values of one tree may share memory
  std::vector<bool> reachable_;           // by root
};

// May a result of the node share the memory of an operand? Results of views, writes and composite ops may.
bool may_share_operand(const Node& node);

}  // namespace kiln::jit
