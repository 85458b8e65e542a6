#include "interpreter/host/source_weights.h"

#include "jit/graph/text.h"

namespace kiln::interp::host {

bool is_spelled(const Tensor& constant) { return constant.numel().known() <= jit::kSpelledElements; }

std::vector<std::string> names_in_text(const jit::Graph& graph) {
  std::vector<std::string> names = jit::value_names(graph);
  for (std::string& name : names) name.erase(0, 1);
  return names;
}

std::vector<std::pair<std::string, Tensor>> source_weights(const GraphValue& value) {
  const std::vector<std::string> names = names_in_text(value.graph);
  const std::vector<int> places = value.graph.arguments();
  std::vector<std::pair<std::string, Tensor>> weights;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<std::size_t>(places[i]);
    if (places[i] >= 0 && at < value.bound.size() && value.bound[at])
      weights.emplace_back(names[i], value.bound[at]);
  }
  for (const jit::Node& node : value.graph.nodes) {
    if (node.is_constant() && !is_spelled(node.constant))
      weights.emplace_back(names[static_cast<std::size_t>(node.outputs[0])], node.constant);
  }
  return weights;
}

}  // namespace kiln::interp::host
