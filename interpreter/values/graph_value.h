// Owns graphs as values of the language: their cell, and how one is called.
#pragma once

#include <span>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"

namespace kiln::interp {

class Interpreter;

// A graph never changes once it is a value.
struct GraphValue : Object {
  const jit::Graph graph;
  explicit GraphValue(jit::Graph g) : Object(Tag::Graph), graph(std::move(g)) {}
};

inline Value make_graph(jit::Graph graph) { return make<GraphValue>(std::move(graph)); }
inline const jit::Graph& graph_of(const Value& value) { return value.as<GraphValue>().graph; }

// Runs the graph op by op, one argument for each tensor or number it takes. Gives its output, a tuple of
// several, none without any. Throws OpError whose `operands()` index the arguments.
Value call_graph(Interpreter& interpreter, const Value& graph, std::span<const Value> arguments);

}  // namespace kiln::interp
