// Owns the tensors that the source of a graph is given beside its arguments.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interpreter/values/graph_value.h"

namespace kiln::interp::host {

// Is a constant short enough to be written out?
bool is_spelled(const Tensor& constant);
// Names of values as the text of the graph has them, without `%`.
std::vector<std::string> names_in_text(const jit::Graph& graph);
// What the function is given as `weights`, by name: tensors that the graph has beside its arguments, and
// constants that are not spelled.
std::vector<std::pair<std::string, Tensor>> source_weights(const GraphValue& graph);

}  // namespace kiln::interp::host
