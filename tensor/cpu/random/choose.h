// Owns random choices among things: permutations, and indices drawn by weight.
#pragma once

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Fills a contiguous i64 vector with the integers from 0 to before its size in random order.
void permutation(const Tensor& out, const Generator& draw);

// Fills a contiguous i64 [rows, samples] with indices drawn by the weights [rows, classes] (f64, contiguous),
// each at most once per row unless `replacement`. Throws OpError (Value) for weights that are negative or not
// finite, and for a row whose weights (those left) are all 0.
void draw_by_weight(const Tensor& out, const Tensor& weights, bool replacement, const Generator& draw);

}  // namespace kiln::cpu
