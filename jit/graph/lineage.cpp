#include "jit/graph/lineage.h"

#include <algorithm>

namespace kiln::jit {

Lineage Lineage::joined(const Lineage& a, const Lineage& b) {
  if (a.nodes_ == nullptr || a.nodes_ == b.nodes_) return b;
  if (b.nodes_ == nullptr) return a;
  std::vector<int> all;
  std::ranges::set_union(*a.nodes_, *b.nodes_, std::back_inserter(all));
  Lineage both;
  both.nodes_ = std::make_shared<const std::vector<int>>(std::move(all));
  return both;
}

void number_nodes(Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    graph.nodes[i].place.lineage = Lineage(static_cast<int>(i));
}

}  // namespace kiln::jit
