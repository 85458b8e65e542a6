// Owns which values of a graph the caller gets hold of: passes may not make one tensor of two that he can
// tell apart by writing to them.
#pragma once

#include <vector>

#include "jit/graph.h"

namespace kiln::jit {

class Exposure {
 public:
  explicit Exposure(const Graph& graph);

  // Is it a tensor that the caller has: gave, gets, or has become one of his?
  bool is_callers(ValueId id) const { return callers_[static_cast<std::size_t>(id)]; }
  // May it share memory with one that the caller has?
  bool is_reachable(ValueId id) const { return reachable_[static_cast<std::size_t>(memory(id))]; }
  bool may_share_memory(ValueId a, ValueId b) const { return memory(a) == memory(b); }
  // A value that stands for all that it may share memory with.
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

// May a result of the node lie in the memory of an operand? Of views and composite ops it may.
bool may_share_operand(const Node& node);

}  // namespace kiln::jit
