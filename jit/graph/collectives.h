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
// In words, of what runs: how collectives begin and are waited for, and why some are not moved; empty without
// any.
std::string collectives_text(const Graph& graph);
// The graph with its nodes in this order, each behind those that it reads.
Graph in_order(const Graph& graph, const std::vector<int>& order);

}  // namespace kiln::jit
