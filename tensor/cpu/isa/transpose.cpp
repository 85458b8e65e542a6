// Owns the transpositions of small blocks, compiled once per instruction set: squares of vectors in
// registers.
#include <cstring>

#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/transpose_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint64_t Doubles __attribute__((vector_size(32)));

// Pairs of rows exchange neighbours, then pairs, then halves.
void transpose_square(Words (&row)[8]) {
  Words a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      b[i + k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      b[i + k + 2] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int k = 0; k < 4; ++k) {
    row[k] = __builtin_shufflevector(b[k], b[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    row[k + 4] = __builtin_shufflevector(b[k], b[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
void transpose_square(Doubles (&row)[4]) {
  Doubles a[4];
  for (int i = 0; i < 4; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 4, 2, 6);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 1, 5, 3, 7);
  }
  for (int k = 0; k < 2; ++k) {
    row[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 4, 5);
    row[k + 2] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 6, 7);
  }
}

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
