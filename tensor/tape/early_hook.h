// Owns hooks on leaves that only begin sooner what the program does in any case.
#pragma once

#include "tensor/autograd.h"

namespace kiln::tape {

// Calls `hook` with the leaf after its gradient was added to, but not while code is captured, which may leave
// it out. Throws OpError (Autograd) for what is no leaf that requires grad.
void add_early_hook(const Tensor& x, PostHook hook);

}  // namespace kiln::tape
