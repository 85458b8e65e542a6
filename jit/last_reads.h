// Owns the last reads of memory, behind which a node may write over it.
#pragma once

#include <vector>

#include "jit/graph.h"

namespace kiln::jit {

// Of a graph without writes, or one whose writes go over memory that is not read again. The result of a
// composite op counts as memory of its own: only a run shows whether it shares that of an operand.
class LastReads {
 public:
  explicit LastReads(const Graph& graph);

  // May the node compute into the memory of its first operand? Its op can, the result is of the same type,
  // the operand was computed by this graph (or saved for it, as for a backward graph), and no value in that
  // memory is read again.
  bool may_overwrite(int place) const;

 private:
  ValueId& memory(ValueId id) { return memories_[static_cast<std::size_t>(id)]; }
  ValueId memory(ValueId id) const { return memories_[static_cast<std::size_t>(id)]; }
  bool is_alone_in(const Node& node, ValueId memory) const;

  const Graph& graph_;
  std::vector<ValueId> memories_;  // of each value: the value that it is a view of
  std::vector<bool> ours_;         // of each value that is a memory
  std::vector<int> last_read_;     // of each value that is a memory: by which node
};

}  // namespace kiln::jit
