// Owns subgraphs: some nodes of a graph as a graph of their own.
#pragma once

#include <string>
#include <vector>

#include "jit/graph/rewrite.h"

namespace kiln::jit {

// Copies nodes of `source` in order; each reads values that were copied before or taken as inputs.
class SubgraphBuilder : public Builder {
 public:
  SubgraphBuilder(const Graph& source, Stage stage);

  void take_input(ValueId id, Input as, Type type);
  bool has(ValueId id) const { return now(id) >= 0; }
  ValueId now(ValueId id) const { return now_[static_cast<std::size_t>(id)]; }
  // Throws InternalError for a value that is not in the subgraph.
  Operand now(const Operand& operand) const;
  void copy(const Node& node);

 private:
  const Graph& source_;
  std::vector<ValueId> now_;
};

// Marks the nodes that are needed for the values marked in `needed` and for the nodes marked in `nodes`,
// stopping at values in `known`.
std::vector<bool> nodes_for(const Graph& graph, std::vector<bool> needed, const std::vector<bool>& known,
                            std::vector<bool> nodes);

// The values that these nodes and outputs read.
std::vector<bool> read_by(const Graph& graph, const std::vector<bool>& nodes,
                          std::span<const Operand> outputs);

struct SubgraphInput {
  ValueId id = Operand::kAbsent;
  Input as;
  Type type;
};
struct Subgraph {
  Graph graph;
  // Symbols that no input has as a size. They are the first inputs: numbers of Role::Saved with the same
  // names.
  std::vector<std::string> sizes;
};
// `nodes` compute `outputs` from `inputs`. Those in `again` also run in another subgraph: here they name
// their origin there, and come right before the first node that reads them.
Subgraph take_subgraph(const Graph& source, Stage stage, std::span<const SubgraphInput> inputs,
                       const std::vector<bool>& nodes, const std::vector<bool>& again,
                       std::span<const Operand> outputs);

}  // namespace kiln::jit
