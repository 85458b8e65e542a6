// Owns how long the values of a graph are needed: which of them show the memory of others, and when each is
// last read. What may be written over, how long memory lives and how much a graph takes follow from it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Of a graph without writes, or one whose writes go over what was read for the last time. The result of a
// composite op counts as memory of its own: whether it shares that of an operand is known when it ran.
class Lifetimes {
 public:
  static constexpr int kNever = -1;
  static constexpr int kAfterNodes = std::numeric_limits<int>::max();

  // Nodes run in the order of the graph.
  explicit Lifetimes(const Graph& graph);
  // By node: when it runs. Those of one time run together.
  Lifetimes(const Graph& graph, std::vector<int> when);

  // May the node compute into the memory of its first operand? Its op can, the result is of the same type,
  // the operand was computed by this graph (or kept for it: what a backward graph is given), and nothing that
  // is stored there is read again.
  bool may_overwrite(int place) const;

  // The value whose elements `id` shows: itself, unless it is a view.
  ValueId shown(ValueId id) const { return shown_[at(id)]; }
  // The value whose memory `id` is stored in: itself, unless it is a view, or was written over another.
  ValueId buffer(ValueId id) const { return buffer_[at(id)]; }

  // When the value itself is read for the last time: kNever, kAfterNodes, or when such a node runs.
  int last_use(ValueId id) const { return last_use_[at(id)]; }
  // When a value that is no view is read for the last time, itself or through a view of it.
  int last_read(ValueId id) const { return last_read_[at(id)]; }
  // Does a node that runs then, no other one beside it, read for the last time what `id` shows?
  bool ends_with(ValueId id, int when) const;

  // The most bytes that what the graph makes takes at once, results among it, at the hints: each buffer is
  // there from the node that makes it to the last one that reads it, or a view of it. Arguments are the
  // caller's. In the order of the graph.
  std::int64_t peak_bytes() const;

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  int when(int place) const { return when_.empty() ? place : when_[static_cast<std::size_t>(place)]; }
  void read(const Node& node, int when);
  void read(ValueId id, int when);
  void make(const Node& node);
  bool is_alone_in(const Node& node, ValueId contents) const;
  std::int64_t bytes_of(ValueId id) const;

  const Graph& graph_;
  std::vector<int> when_;        // by node; empty: its place
  std::vector<ValueId> shown_;   // of each value: the one whose elements it shows, as a view does
  std::vector<ValueId> buffer_;  // likewise, whose memory it is stored in: what a node wrote over, too
  std::vector<bool> ours_;       // of each value that is no view: made here, or handed over
  std::vector<int> last_use_;    // of each value
  std::vector<int> last_read_;   // of each value that is no view
  std::vector<int> readers_;     // of each value that is no view: how many nodes make its last read
  std::vector<int> released_;    // of each value with a buffer: when what is stored there is last read
};

}  // namespace kiln::jit
