// Owns what a draw from a distribution is on cards: what its elements are made of, and the type in kernels
// that makes them.
#pragma once

#include <string>

#include "tensor/cuda/kernels/draw_job.h"
#include "tensor/dtype.h"
#include "tensor/lowering.h"

namespace kiln::cuda {

// The numbers of the distribution; the draw, its elements and where they go are the caller's.
DrawJob job_of(const Distribution& from);
// The type of kernels/draws.cuh, with that of the elements.
std::string draw_type(Distribution::Kind kind, DType dtype);
// Elements that it makes at once.
std::int64_t made_at_once(Distribution::Kind kind, DType dtype);

}  // namespace kiln::cuda
