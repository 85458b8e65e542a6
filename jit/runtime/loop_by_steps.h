// Owns going back through a loop op by op, on the tape, where there is no code for it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "jit/flow/flow_gradient_run.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// Runs `flow`, the loop step by step, once more, recorded as the program would record it, and goes back
// through that. `inputs`: without histories, in memory that the loop may write. `histories`: by input that is
// wanted, in order, where their gradients go to. `grads` gives those of the outputs of the exit by which it
// is left. `sums`: by history, what was added up so far. Records what it does where that is recorded. Gives
// the gradients by history.
Tensors back_by_steps(RunnableFlow& flow, const FlowDerivative& derivative,
                      const std::vector<FlowValue>& inputs, std::span<const tape::Edge> histories,
                      const std::function<Tensors(ExitId)>& grads, std::span<const Tensor> sums);
// The same elements without history, in memory that may be written.
Tensor without_history(const Tensor& x);

}  // namespace kiln::jit
