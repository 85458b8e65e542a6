// Owns which tensors behind the exits of a flow carry derivatives, and where the tape's order of sums cannot
// be kept.
#pragma once

#include <map>
#include <vector>

#include "jit/flow/flow_gradient.h"
#include "jit/flow/flow_moves.h"

namespace kiln::jit {

// A tensor that the flow writes carries a derivative where one of these writes ran.
struct FlowFlag {
  std::size_t block = 0, step = 0;
};

struct FlowOutputs {
  std::map<ExitId, std::vector<FlowOutput>> by_exit;  // of exits behind the loop
  std::vector<FlowFlag> flags;
};
// The value or input that an output is.
ValueId value_of(const FlowGraph& flow, ExitId exit, const FlowOutput& output);

// Throws OpError (Capture) where an output carries a derivative in some runs alone, and where another output
// is computed from it: its gradient could be asked for.
FlowOutputs outputs_of(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
                       const std::vector<bool>& wanted);

// Throws OpError (Capture) where sums of gradients would be made in another order than the tape makes them,
// or where the memory of a gradient has no size that is known when the flow begins.
void check_order(const FlowGraph& flow, const FlowActivity& activity);

// Is the symbol known when the flow begins?
bool is_of_inputs(const FlowGraph& flow, const std::string& symbol);

}  // namespace kiln::jit
