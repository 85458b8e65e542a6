// Owns the description of one fold (a reduction with a map before it) as the kernels of every instruction set
// take it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/isa.h"
#include "tensor/dtype.h"
#include "tensor/fixed_order.h"

namespace kiln::cpu {

// What is done to an element before it is combined; `c` is the output's own number (a mean, a maximum, a
// first element).
enum class Map : std::uint8_t {
  Identity,
  Square,
  Abs,
  NonZero,         // 0 or 1, to be counted
  Truth,           // false or true, of which the extrema tell about any and all
  Distance,        // x-c
  CenteredSquare,  // (x-c)^2
  CenteredExp,     // exp(x-c)
};
inline constexpr int kMapCount = 8;

inline constexpr int kFoldMaxRank = 64;

// Dimensions with the input's strides, in elements, neighbours merged where they can be.
struct FoldDims {
  int rank = 0;
  std::int64_t sizes[kFoldMaxRank];
  std::int64_t strides[kFoldMaxRank];
};

// Maps `count` elements of the input's type, `stride` apart, to accumulators. The centers are `center_stride`
// apart.
using FoldLoadFn = void (*)(const std::byte* from, std::int64_t stride, std::int64_t count,
                            const std::byte* centers, std::int64_t center_stride, std::byte* to);

inline constexpr std::int64_t kMaxColumnTile = 512;

struct FoldJob {
  const std::byte* input = nullptr;  // the first element
  std::int64_t element_size = 0;
  FoldLoadFn load = nullptr;
  bool direct = false;     // the kernel reads elements as they are: contiguous runs need no load
  FoldDims outputs;        // which output
  FoldDims reduced;        // which element of an output's sequence
  std::int64_t count = 0;  // elements of each sequence, >= 1
  std::int64_t blocks = 0;
  std::int64_t tile = kMaxColumnTile;  // outputs per unit of `columns`
  const std::byte* centers = nullptr;  // one accumulator per output, or null
  std::byte* results = nullptr;        // accumulators [outputs, blocks]
};

// One combination of elements of one type. Units are independent of each other.
struct FoldKernel {
  // Unit: one block of one output, output * blocks + block.
  void (*rows)(const FoldJob& job, std::int64_t begin, std::int64_t end);
  // Unit: one block of up to `tile` outputs next to each other along the last output dimension, whose stride
  // is 1.
  void (*columns)(const FoldJob& job, std::int64_t begin, std::int64_t end);
  // Combines the blocks of outputs [begin, end) into the first `outputs` results, in place or into `to`.
  void (*blocks)(const FoldJob& job, std::byte* to, std::int64_t begin, std::int64_t end);
};

struct FoldKernels {
  // By the dtype of what is read: elements where those are combined as they are, else what `load` makes. Sums
  // and products of integers are of I64 alone.
  FoldKernel fold[kCombineCount][kDTypeCount];
  FoldLoadFn load[kMapCount][kDTypeCount];
  FoldLoadFn kept[kDTypeCount];  // integers of their own width, for their extrema
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(FoldKernels, fold_kernels)
