// Owns the form of one application of a program's function that the interpreter ran, as graphs see it.
#pragma once

#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::jit {

// The interpreter has run forward, and will run backward.
struct InterpretedApplication {
  Tensors results;
  // Takes the results and a gradient of each. Gives the gradients of the arguments; one that the function
  // leaves out is an absent tensor. `needs`: of which arguments.
  std::function<Tensors(Inputs results, Inputs grads, const std::vector<bool>& needs)> backward;
};

}  // namespace kiln::jit
