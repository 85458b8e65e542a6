// Owns edits of graphs: each takes a graph and gives another one, as passes that the program registers need
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// What an edited graph computes in a new node. Without an op the node is the constant.
struct NewNode {
  const Op* op = nullptr;
  std::vector<Operand> operands;  // values of the graph that is edited
  std::vector<Attr> attrs;        // in the order of the signature
  Tensor constant;
};

// Throws OpError (Value) unless nodes of the graph may be edited: one without writes and without kernels.
void check_editable(const Graph& graph);

// The same graph, in which every value has a name: after its op, where the program gave none. Edits name
// values so, since numbers would change with them.
Graph with_names(const Graph& graph);

// The graph that computes the results of a node by another one. Its readers stay as they are. Throws OpError:
// what the type rule throws, Type where a result would have another type, Value for an operand that is
// computed later.
Graph replace_node(const Graph& graph, std::size_t node, const NewNode& now);

// The graph with one more node before node `before`, or at the end. Its first result is named after `name`
// or, where that is empty, after its op. The place in the program is that of the node before which it stands.
// Throws OpError as replace_node does.
Graph insert_node(const Graph& graph, std::size_t before, const NewNode& now, const std::string& name);

// The graph without a node. What read the result reads `by` instead. Throws OpError (Value) where results are
// read and nothing stands for them, and for a node that must run; Type where `by` has another type.
Graph erase_node(const Graph& graph, std::size_t node, std::optional<ValueId> by);

// A graph that was made of `before` by edits, such that it may run in its place: results that share memory
// with an argument or with another result because of the edits are copied. Throws OpError (Value) where it
// has other inputs, other types of results, other effects, or a result that is no longer the view that it
// was.
Graph standing_for(const Graph& before, const Graph& made);

}  // namespace kiln::jit
