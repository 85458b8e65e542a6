// Owns nests without reductions that are also printed to go through elements in tiles, for operands that lie
// transposed to the results: which they are, and which launches take those.
#pragma once

#include <string>

#include "jit/loops/loops.h"
#include "tensor/cuda/axes.h"
#include "tensor/cuda/kernels/tile_job.h"

namespace kiln::jit {

// Those that read views of tensors, of which some are transposed. Long computations wait for no memory.
bool has_tiles(const LoopNest& nest);

// The function beside that of one element for each thread.
inline std::string by_tiles(const std::string& symbol) { return symbol + "_tiles"; }

// For one choice of layouts and sizes. Where operands lie so, the axes are put in the order that the kernel
// takes: neighbours of results, then neighbours of these operands. No tiles: a launch does not go by them.
cuda::TileJob plan_tiles(const LoopNest& nest, cuda::WalkAxes& axes);

}  // namespace kiln::jit
