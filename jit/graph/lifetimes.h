// Owns how long the values of a graph are needed: which of them show the memory of others, and by which node
// each memory is last read. What a node may write over and how much memory a graph takes follow from it.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Of a graph without writes, or one whose writes go over what was read for the last time. The result of a
// composite op counts as memory of its own: whether it shares that of an operand is known when it ran.
class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph);

  // May the node compute into the memory of its first operand? Its op can, the result is of the same type,
  // the operand was computed by this graph (or kept for it: what a backward graph is given), and nothing that
  // is stored there is read again.
  bool may_overwrite(int place) const;

  // The value whose memory `id` is stored in: itself, unless it is a view, or was written over another.
  ValueId buffer(ValueId id) const { return buffer_[at(id)]; }

  // The most bytes that what the graph makes takes at once, results among it, at the hints: each buffer is
  // there from the node that makes it to the last one that reads it, or a view of it. Arguments are the
  // caller's.
  std::int64_t peak_bytes() const;

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  ValueId shown(ValueId id) const { return shown_[at(id)]; }
  void read(ValueId id, int when);
  void make(const Node& node);
  bool is_alone_in(const Node& node, ValueId contents) const;
  std::int64_t bytes_of(ValueId id) const;

  const Graph& graph_;
  std::vector<ValueId> shown_;   // of each value: the one whose elements it shows, as a view does
  std::vector<ValueId> buffer_;  // likewise, whose memory it is stored in: what a node wrote over, too
  std::vector<bool> ours_;       // of each value that is no view: made here, or handed over
  std::vector<int> last_read_;   // of each value that is no view: by which node; -1: by none
  std::vector<int> released_;    // of each value with a buffer: the last node that reads what is stored there
};

}  // namespace kiln::jit
