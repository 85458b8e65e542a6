// Owns numbers of events: integers that are drawn by rates.
#pragma once

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Fills a contiguous f64 tensor with one number for each rate (f64, contiguous, as many, from 0 to 2^53).
void fill_poisson(const Tensor& out, const Tensor& rates, const Generator& draw);

}  // namespace kiln::cpu
