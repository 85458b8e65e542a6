// Owns the form of one application of a program's function that the interpreter ran, as graphs see it.
#pragma once

#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::jit {

// The interpreter has run forward, and will run backward.
struct InterpretedApplication {
  Tensors results;
  // From the results and a gradient of each, the gradients of the arguments, absent where there is none.
  // `needs`: of which arguments.
  std::function<Tensors(Inputs results, Inputs grads, const std::vector<bool>& needs)> backward;
};

}  // namespace kiln::jit
