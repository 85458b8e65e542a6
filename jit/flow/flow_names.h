// Owns what values of a flow are called in texts.
#pragma once

#include <string>
#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// By value: "n7" of a number, "%x.3" of a tensor of the variable x, "%3" of one without a name.
std::vector<std::string> flow_value_names(const FlowGraph& flow);

}  // namespace kiln::jit
