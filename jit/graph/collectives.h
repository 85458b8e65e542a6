// Owns the order that collectives of a graph must keep, so that ranks which run other graphs, or none, agree.
#pragma once

#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Each rank waits for the others somewhere, and no two may wait for each other. It is enough that whatever a
// rank has begun in the program before it waits, it has begun before it waits here: beginnings may move to
// the front, waits to the back, and neither the other way. What the program did not name is begun in its
// order, since all ranks count how often they come to a place.
bool communicates(const Node& node);
bool is_start(const Node& node);  // begins, and waits for nothing
bool is_wait(const Node& node);   // of what was begun
// Does it begin a collective? All but waits do that communicate; those that are no starts wait, too.
inline bool submits(const Node& node) { return communicates(node) && !is_wait(node); }
inline bool blocks(const Node& node) { return communicates(node) && !is_start(node); }
// Is there a collective in it that the program did not name?
bool has_unnamed(const Node& node);
bool has_collectives(const Graph& graph);

// By node: those that it must come behind. They make its operands, drew random numbers before it, or began
// what the program did not name before it did.
std::vector<std::vector<int>> nodes_before(const Graph& graph);

// May nodes change places? Not around functions of the program, which do what others see.
bool may_reorder(const Graph& graph);

// Elements of what a start begins to reduce, in bytes; sizes that vary count with their hints.
std::int64_t bytes_of_start(const Graph& graph, const Node& start);
// How many bytes of gradients one start begins at most (jit/passes/bucket.cpp). Large enough to fill a link,
// small enough that the first bucket is under way while the next is computed.
std::int64_t most_bucket_bytes(const Graph& graph);

// In words, of what runs: what one collective is of, when it begins and is waited for, and why.
struct CollectiveNote {
  int start = 0;
  int wait = -1;  // places of nodes; -1: it waits where it begins
  std::string text;
};
std::vector<CollectiveNote> collective_notes(const Graph& graph);
// The same as lines: "%13 to %g: bucket 1 of 2: …"; empty without any.
std::string collectives_text(const Graph& graph);

// The graph with its nodes in this order, each behind those that it reads.
Graph in_order(const Graph& graph, const std::vector<int>& order);

}  // namespace kiln::jit
