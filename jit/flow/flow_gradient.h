// Owns the derivative of flow graphs by reverse mode: a flow that keeps, and one that goes the same way back.
#pragma once

#include <span>
#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// `forward` does what the flow does, with the same inputs and exits, and pushes what `backward` reads on a
// stack (flow_stack.h). Only a run that left by the exit that the derivative is for has one: others leave a
// stack that is of no use. `backward` is given the gradient of each value in `results` at that exit, then
// that of the last elements of each input in `written`, and leaves by exit 0 with the gradients of the inputs
// in `wanted`, in order. Gradients are added in the order of steps backwards, as the tape adds them.
struct FlowGradient {
  FlowGraph forward, backward;
  std::vector<std::size_t> results;  // among the values of the exit
  std::vector<ValueId> written;      // inputs that carry derivatives and are written
  std::vector<ValueId> wanted;
};

// `wanted` says of each input whether its gradient is asked for. No two inputs may share memory. Throws
// OpError (Capture) where an op has no derivative, or for what is not followed: parameters that are given
// views with gaps.
FlowGradient differentiate(const FlowGraph& flow, const std::vector<bool>& wanted, ExitId exit);

// The flow with steps that are differentiated by their bodies made of the steps of these. Throws OpError
// (Capture) for bodies that read elements.
FlowGraph expanded(const FlowGraph& flow);

}  // namespace kiln::jit
