// Owns the layouts of a graph's values in memory, for the few rules that depend on them.
#pragma once

#include "jit/graph/trace.h"

namespace kiln::jit {

// The symbols of a graph in a scope in which its guards hold.
class AssumedScope {
 public:
  explicit AssumedScope(const Graph& graph) : scope_(graph.hints) {
    for (const SizeGuard& each : graph.size_guards) scope_.assume(each);
    assumed_ = scope_.guards().size();
  }
  // Was all that was asked so far decided by the guards, or holds for all values?
  bool asked_nothing() const { return scope_.guards().size() == assumed_; }

 private:
  SizeScope scope_;
  std::size_t assumed_;
};

// The layout of a value: of a view as its op says, else as the type says, else row-major. Where views ask
// something of symbols, the scope answers, and records it.
Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id);
// The same at these values of the symbols. Throws what the view rules throw there.
Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id, const SymbolValues& symbols);
// Of one result of a view. Throws OpError (Capture) where there are fewer, as of `chunk` for small sizes.
Layout layout_of_view(const Op& op, const Layout& source, const Attrs& attrs, std::size_t output);
Layout layout_of_type(const Type& type);

// Are the two layouts the same for all values of the symbols for which the graph is right? False where a view
// rule asks something of them that the graph's guards do not say. `A` and `B` give layouts over symbols.
template <class A, class B>
bool same_layouts(const Graph& graph, const A& a, const B& b) {
  AssumedScope scope(graph);
  try {
    return same(a(), b()) && scope.asked_nothing();
  } catch (const OpError&) {  // the rule does not hold in this call
    return false;
  }
}

// The view whose elements a scatter replaces: `slice` of `slice_scatter`. Null when there is none.
const Op* view_undone_by(const Op& scatter);

// Keeps up with a graph that grows: which node makes each value.
class Producers {
 public:
  std::span<const int> of(const Graph& graph);

 private:
  std::vector<int> producers_;
  std::size_t nodes_ = 0;
};

// The operands of a node as rules are given them.
std::vector<TraceOperand> trace_operands(const Graph& graph, std::span<const int> producers,
                                         const Node& node);

}  // namespace kiln::jit
