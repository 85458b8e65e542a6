#include "jit/graph/with_sizes.h"

#include <algorithm>
#include <set>

namespace kiln::jit {
namespace {

// Calls f with each size that the graph is written with.
template <class F>
void each_size(Graph& graph, const F& f) {
  const auto all = [&f](Dims& sizes) { std::for_each(sizes.begin(), sizes.end(), f); };
  const auto of_attrs = [&](std::vector<Attr>& attrs) {
    for (Attr& each : attrs) {
      if (auto* size = std::get_if<Dim>(&each)) f(*size);
      if (auto* sizes = std::get_if<Dims>(&each)) all(*sizes);
    }
  };
  for (Value& each : graph.values) {
    all(each.type.sizes);
    if (each.type.strides) all(*each.type.strides);
  }
  for (Node& node : graph.nodes) {
    of_attrs(node.attrs);
    for (Operand& each : node.operands) {
      if (auto* size = std::get_if<Dim>(&each.number)) f(*size);
    }
  }
  for (Input& each : graph.inputs) f(each.offset);
  for (Effect& each : graph.effects) of_attrs(each.attrs);
}

}  // namespace

Graph at_hints(Graph graph) {
  SymbolSizes sizes;
  for (const auto& [symbol, hint] : graph.hints) sizes.emplace(symbol, hint);
  return with_sizes(std::move(graph), sizes);
}

Graph with_sizes(Graph graph, const SymbolSizes& sizes) {
  each_size(graph, [&sizes](Dim& size) { size = substitute(size, sizes); });
  graph.hints.clear();
  graph.saved_sizes.clear();
  graph.size_guards.clear();
  return graph;
}

void drop_unused_hints(Graph& graph) {
  std::set<std::string> used;
  each_size(graph, [&used](Dim size) { collect_symbols(size, used); });
  graph.hints.erase_if([&used](const auto& each) { return !used.contains(each.first); });
}

}  // namespace kiln::jit
