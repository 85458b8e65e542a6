// Owns the table of kernels that find where extrema are, one for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/isa.h"
#include "tensor/cpu/order/order_key.h"
#include "tensor/integers.h"

namespace kiln::cpu {

// Elements [outer, count, inner]; the first extremum along the middle dimension is looked for.
struct ExtremumJob {
  const std::byte* input = nullptr;
  std::int64_t count = 1, inner = 1;
  OrderBits order;
  std::int64_t* places = nullptr;  // [outer, inner]
  std::byte* values = nullptr;     // [outer, inner], or none
};

// `rows`: inner is 1, a unit is a sequence. `columns`: a unit is a tile of neighbouring outputs; tiles vary
// fastest, and are nearly equal in width.
struct ExtremumKernel {
  void (*rows)(const ExtremumJob& job, std::int64_t begin, std::int64_t end) = nullptr;
  void (*columns)(const ExtremumJob& job, std::int64_t begin, std::int64_t end) = nullptr;
};
inline constexpr std::int64_t kExtremumTileBytes = 4096;
// How many tiles so many neighbouring outputs make.
inline std::int64_t extremum_tiles(std::int64_t inner, std::int64_t element_size) {
  return ceil_divide(inner * element_size, kExtremumTileBytes);
}

struct ExtremumKernels {
  ExtremumKernel of[2][4];  // [whether floats][log2 of the bytes of an element]
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(ExtremumKernels, extremum_kernels)
