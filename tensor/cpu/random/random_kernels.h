// Owns the table of random number kernels of every instruction set.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

struct RandomKernels {
  // The 4 words of each of `count` Philox blocks from `first` on.
  void (*words)(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::int64_t count,
                std::uint32_t* out);
  // Numbers from the words of whole blocks: 4 (2) for each of `blocks`.
  void (*uniform_f32)(const std::uint32_t* words, std::int64_t blocks, float* out);
  void (*uniform_f64)(const std::uint32_t* words, std::int64_t blocks, double* out);
  void (*normal_f32)(const std::uint32_t* words, std::int64_t blocks, float* out);
  void (*normal_f64)(const std::uint32_t* words, std::int64_t blocks, double* out);
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(RandomKernels, random_kernels)
