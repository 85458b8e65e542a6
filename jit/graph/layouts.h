// Owns the layouts of a graph's values in memory, for the few rules that depend on them.
#pragma once

#include "jit/graph/trace.h"

namespace kiln::jit {

// The layout of a value at these symbols: of a view as its op says, else as the type says, else row-major.
Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id, const SymbolValues& symbols);
// May symbols change its sizes or strides? Its offset does not count.
bool follows_symbols(const Graph& graph, std::span<const int> producers, ValueId id);
// Of one result of a view. Throws OpError (Capture) where there are fewer, as of `chunk` for small sizes.
Layout layout_of_view(const Op& op, const Layout& source, const Attrs& attrs, std::size_t output);
Layout layout_of_type(const Type& type, const SymbolValues& symbols);

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
