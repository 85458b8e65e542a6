// Owns which elements rows take that read where indices say, on cards: for their own kernels, and for kernels
// that go on with what they read.
#pragma once

#include "tensor/cuda/indices.h"
#include "tensor/op.h"

namespace kiln::cuda {

// Is it one of those: `gather`, `index_select`, `embedding`, `index`?
bool reads_indexed(const Op& op);
// Of these: the operand that is read. The others are indices.
int source_of(const Op& op);
// A loop over the row's result; `index` without masks. Throws OpError (Index) where indices do not broadcast.
IndexedPlaces places_of(const Op& op, const Attrs& attrs, Inputs inputs);

}  // namespace kiln::cuda
