// Owns the table of kernels that factorizations by blocks are made of, one for every instruction set. Each
// computes an element in an order that its indices alone decide.
#pragma once

#include <cstddef>

#include "tensor/cpu/products/product_kernels.h"
#include "tensor/integers.h"

namespace kiln::cpu {

// Matrices here are row-major, rows `ld…` elements apart. Sizes are multiples of this, but for depths: whole
// vectors, no rests; matrices are padded. Factors, whose elements go one by one against vectors, may have any
// strides.
inline constexpr int kBlockStep = 16;
inline constexpr int round_to_block(int size) { return round_up(size, kBlockStep); }
// How far apart rows of so many elements lie best: an odd number of cache lines, lest rows of a power of two
// push each other out of the cache.
template <class T>
constexpr std::ptrdiff_t spread_rows(int columns) {
  constexpr int kLine = 64 / sizeof(T);
  return (ceil_divide(columns, kLine) | 1) * std::ptrdiff_t{kLine};
}

template <class T>
struct BlockKernels {
  // c[rows, columns] -= factor[rows, depth] x[depth, columns].
  void (*subtract)(const MatrixView<T>& factor, const T* x, std::ptrdiff_t ldx, T* c, std::ptrdiff_t ldc,
                   int rows, int columns, int depth);
  // x[order, columns] becomes the y with t y = x, for the strict lower triangle of t below ones on the
  // diagonal, or for its upper triangle.
  void (*substitute_lower)(const MatrixView<T>& t, T* x, std::ptrdiff_t ldx, int order, int columns);
  void (*substitute_upper)(const MatrixView<T>& t, T* x, std::ptrdiff_t ldx, int order, int columns);
  // The LU factorization with partial pivoting of the transposed panel[width, rows], rows >= width, in place.
  // pivots[j], not below j, is what row j was swapped with: the first of the largest, or of nans. Returns 0,
  // or the number, from 1, of the first pivot that is zero.
  int (*factorize)(T* panel, std::ptrdiff_t ld, int rows, int width, int* pivots);
  // to[j, i] = from[i, j] for from[rows, columns].
  void (*transpose)(const T* from, std::ptrdiff_t ld_from, T* to, std::ptrdiff_t ld_to, int rows,
                    int columns);
};

struct BlockTable {
  BlockKernels<float> f32;
  BlockKernels<double> f64;

  template <class T>
  const BlockKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(BlockTable, block_kernels)
