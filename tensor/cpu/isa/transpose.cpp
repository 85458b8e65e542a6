// Owns the transpositions of small blocks, compiled once per instruction set: squares of vectors in
// registers.
#include <cstring>

#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/isa/squares.h"
#include "tensor/cpu/transpose_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

template <class V, class T>
void transpose(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, bool streaming) {
  constexpr std::int64_t kSide = kTransposeBytes / static_cast<std::int64_t>(sizeof(T));
  constexpr int kWidth = sizeof(V) / sizeof(T);
  // Results are put together first: rows of a power of two apart would push each other out of the cache.
  alignas(64) T block[kSide * kSide];
  for (std::int64_t c = 0; c < kSide; c += kWidth) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const T* next = from + (kSide + c + i) * from_stride;
      __builtin_prefetch(next);
      __builtin_prefetch(next + kSide / 2);
    }
    for (std::int64_t r = 0; r < kSide; r += kWidth) {
      V rows[kWidth];
      for (int i = 0; i < kWidth; ++i) std::memcpy(&rows[i], from + (c + i) * from_stride + r, sizeof(V));
      transpose_square(rows);
      for (int i = 0; i < kWidth; ++i) std::memcpy(block + (r + i) * kSide + c, &rows[i], sizeof(V));
    }
  }
  const bool aligned = (reinterpret_cast<std::uintptr_t>(to) | (to_stride * sizeof(T))) % 64 == 0;
  for (std::int64_t r = 0; r < kSide; ++r) {
    if (streaming && aligned) {
      stream_store(to + r * to_stride, block + r * kSide, kSide);
    } else {
      std::memcpy(to + r * to_stride, block + r * kSide, kTransposeBytes);
    }
  }
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static constexpr TransposeKernels kKernels{&transpose<Words, std::uint32_t>,
                                             &transpose<Doubles, std::uint64_t>};
  return kKernels;
}

}  // namespace kiln::cpu::KILN_ISA
