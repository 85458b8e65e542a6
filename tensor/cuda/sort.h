// Owns the stable order of the elements of rows on cards, with the CPU's order of keys.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/cuda/kernels/sort_job.h"
#include "tensor/tensor.h"

namespace kiln::cuda {

// For each row of contiguous keys [..., length] of any dtype, the places of its elements in order: i64, of
// the sizes of the keys. Equal keys keep their order, also when it is descending. As on the CPU, nan is
// greater than all else, all nans are alike, and so are both zeros. The card does the work later, as with all
// launches. Throws OpError (Value) for rows of more than 2^32 - 1 elements.
//
// `below`: where integers are known to be from 0 to below it, few passes order them. Is one of them not, the
// places are still a permutation of each row.
Tensor stable_order(const Tensor& keys, bool descending = false, std::optional<std::int64_t> below = {});
// The same into a contiguous result.
void find_stable_order(const Tensor& result, const Tensor& keys, bool descending = false,
                       std::optional<std::int64_t> below = {});

// The elements of contiguous rows [..., length] at the first places of each row of `order` [..., n], which
// has as many rows: into contiguous rows [..., count] of the same dtype.
void take_of_rows(const Tensor& result, const Tensor& source, const Tensor& order);

// What the text of kernels over keys of a dtype calls them, and what it is given to order them.
const char* keys_name(DType dtype);
OrderJob order_job(const Tensor& keys, bool descending);

}  // namespace kiln::cuda
