// Owns the stack on which a flow keeps what its derivative needs, which takes it off again in reverse.
#pragma once

#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

struct FlowStack {
  std::vector<FlowValue> values;
};

// The steps of a flow that keeps and of one that takes back: `push` of a value without results, and `pop`
// whose result has the type that was pushed, which its value states.
const Op& push_op();
const Op& pop_op();

// As `evaluated` of a flow alone, with a stack for its steps.
std::unique_ptr<RunnableFlow> evaluated(std::shared_ptr<const FlowGraph> flow,
                                        std::shared_ptr<FlowStack> stack);

}  // namespace kiln::jit
