// Owns the methods of graphs that edit them: replace insert erase. Each gives another graph.
#pragma once

#include <span>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"

namespace kiln::interp {

class Interpreter;

// Of the arguments self, node, op, operands, attrs.
Value replace_node(Interpreter& interpreter, std::span<Value> arguments);
// Of the arguments self, before, op, operands, attrs, name.
Value insert_node(Interpreter& interpreter, std::span<Value> arguments);
// Of the arguments self, node, by.
Value erase_node(Interpreter& interpreter, std::span<Value> arguments);

// A node of a graph as a value of the language: `g.nodes[node]`.
Value node_record(const jit::Graph& graph, std::size_t node);

}  // namespace kiln::interp
