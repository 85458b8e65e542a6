// Owns which tensors have a gradient that refers on to others, by a history or a gradient of its own. Cycles
// through it lie among tensors alone, so that no search that begins with values of the language finds them.
#pragma once

#include <vector>

#include "tensor/references.h"

namespace kiln::tape {

// x has another gradient than before.
void note_gradient(const Tensor& x);
// That is all which is to be known of what ends now.
void forget_gradient(const AutogradMeta& meta);
// Those there are now, for a search to begin with.
std::vector<Counted> linked_gradients();
// What `object`, one of them, refers to by its gradient, which it loses. Held by the result, so that it ends
// when the search is over.
Tensor take_gradient(const void* object);

}  // namespace kiln::tape
