// Owns graphs as values of the language: their cell, and how one is called.
#pragma once

#include <span>
#include <vector>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"

namespace kiln::interp {

class Interpreter;

// A graph never changes once it is a value.
struct GraphValue : Object {
  const jit::Graph graph;
  // By argument of the graph: a tensor that each call is given beside those of the caller, as the weights of
  // an imported model are; absent for what the caller gives. Empty: the caller gives all.
  const std::vector<Tensor> bound;
  explicit GraphValue(jit::Graph g, std::vector<Tensor> b = {})
      : Object(Tag::Graph), graph(std::move(g)), bound(std::move(b)) {}
};

inline Value make_graph(jit::Graph graph, std::vector<Tensor> bound = {}) {
  return make<GraphValue>(std::move(graph), std::move(bound));
}
inline const jit::Graph& graph_of(const Value& value) { return value.as<GraphValue>().graph; }

// Runs the graph op by op, one argument for each tensor or number it takes. Gives its output, a tuple of
// several, none without any. Throws OpError whose `operands()` index the arguments.
Value call_graph(Interpreter& interpreter, const Value& graph, std::span<const Value> arguments);

}  // namespace kiln::interp
