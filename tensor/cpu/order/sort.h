// Owns sorting on the CPU: stable, NaN last, the same on any number of threads.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// Writes the order that sorts every line of `x` along `dim` to `result`: i64, contiguous, of x's sizes. Equal
// elements keep their order, also when descending; NaN counts as greater than everything.
void argsort(const Tensor& result, const Tensor& x, int dim, bool descending);

// Writes the indices of the `k` largest (or smallest) elements of every line, best first; of equal ones the
// first.
void topk(const Tensor& result, const Tensor& x, int dim, std::int64_t k, bool largest);

// The order that sorts a contiguous vector, i64, and which places of it begin a run of equal elements, bool.
// NaN equals nothing.
struct SortedGroups {
  Tensor order, starts;
};
SortedGroups sorted_groups(const Tensor& x);

}  // namespace kiln::cpu
