// Owns the list of tensors whose gradient refers to other tensors, by a history or a gradient of its own.
// Cycles through such a gradient consist of tensors alone, so that a search from values of the language
// misses them.
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
