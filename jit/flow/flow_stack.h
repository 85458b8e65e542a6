// Owns the stack on which a flow keeps what its derivative needs, which takes it off again in reverse.
#pragma once

#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// As values where the flow runs step by step; as elements one after the other in memory, each value at a
// multiple of eight bytes, where it is machine code.
struct FlowStack {
  std::vector<FlowValue> values;
  Ref<Buffer> memory;
  std::size_t bytes = 0;     // of the memory that are in use
  std::size_t expected = 0;  // that a run is likely to need
};

// The steps of a flow that keeps and of one that takes back: `push` of a number, or of the elements that a
// tensor has now, without results; and `pop` whose result has the type that was pushed, which its value
// states.
const Op& push_op();
const Op& pop_op();

}  // namespace kiln::jit
