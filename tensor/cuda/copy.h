// Owns moving elements on cards: copies between layouts and dtypes, and fills.
#pragma once

#include "tensor/compute.h"
#include "tensor/tensor.h"

namespace kiln::cuda {

// Writes `source`, broadcast to the sizes of `target` and cast to its dtype, into `target`, which has no
// overlap. The source may be on another device. Where the two share memory, all of `source` is read first.
void copy_elements(const Tensor& target, const Tensor& source);
// The same of a source that is apart, unless a word on the card is set (i32[1]).
void copy_unless(const Tensor& refused, const Tensor& target, const Tensor& source);

// Writes one element that the host has, cast, into every element.
void fill_elements(const Tensor& target, const Tensor& number);
// A word on the card that is 0.
Tensor unset_word(Device device);

// A new contiguous tensor with the elements of `source`.
Tensor laid_out(const Tensor& source);

// Elements as integers of their size: where they stay as they are, that is all that matters.
Tensor as_bits(const Tensor& x);

// One element that the host has, in a type of the arithmetic or as a bool, as bits.
std::uint64_t bits_in(Compute compute, const Tensor& number, bool through_bool = false);
std::uint64_t bits_as_bool(const Tensor& number);

}  // namespace kiln::cuda
