// Owns taking a part out of a graph: some of its nodes as a graph of their own.
#pragma once

#include <string>
#include <vector>

#include "jit/rewrite.h"

namespace kiln::jit {

// Nodes copied in order, in terms of values that were copied before.
class Part : public Builder {
 public:
  Part(const Graph& source, Stage stage);

  void take_input(ValueId id, Input as, Type type);
  bool has(ValueId id) const { return now(id) >= 0; }
  ValueId now(ValueId id) const { return now_[static_cast<std::size_t>(id)]; }
  // Throws InternalError for a value that is not in the part.
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

struct ExcerptInput {
  ValueId id = Operand::kAbsent;
  Input as;
  Type type;
};
struct Excerpt {
  Graph graph;
  // Symbols that no input shows as a size: numbers of Role::Saved that go by the same names, before the other
  // inputs.
  std::vector<std::string> sizes;
};
// `nodes` compute `outputs` from `inputs`. Those in `again` ran in another excerpt as well: they say so, and
// come right before what reads them first.
Excerpt excerpt(const Graph& source, Stage stage, std::span<const ExcerptInput> inputs,
                const std::vector<bool>& nodes, const std::vector<bool>& again,
                std::span<const Operand> outputs);

}  // namespace kiln::jit
