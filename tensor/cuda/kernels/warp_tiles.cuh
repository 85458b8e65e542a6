// Owns products of small matrices in shared memory by the lanes of a warp: 16 rows by as many columns as
// there are. By fused multiply-adds, or of halves by the matrix units that cards have from capability 8.0 on.
// Both have the same functions over layouts of their own: which rows and columns a lane has.
#pragma once

#include "tensor/cuda/kernels/walk.cuh"
#include "tensor/math/basic.h"

namespace kiln::cuda {

inline constexpr int kWarpRows = 16;

// Neighbours that are read at once.
template <class T>
struct alignas(16) Piece {
  static constexpr int kCount = 16 / sizeof(T);
  T at[kCount];
};
template <class T>
KILN_MATH Piece<T> piece(const T* from) {
  return *reinterpret_cast<const Piece<T>*>(from);
}

// From one row of a matrix in shared memory to the next. The gap puts neighbouring rows in different banks.
template <class T>
KILN_MATH constexpr int pitch(int columns) {
  return columns + Piece<T>::kCount;
}

KILN_MATH int lane() { return threadIdx.x % kLanes; }

// ---- By fused multiply-adds ----

template <class Number>
struct ByFma {
  using Sum = Number;
  using Stored = Number;              // elements in shared memory
  static constexpr int kSharing = 8;  // lanes next to each other that have the same rows
  static constexpr int kRows = 4;     // of a lane
  static constexpr bool kStages = true;
  static constexpr int kEach = Piece<Number>::kCount;

  KILN_MATH int row(int i) { return lane() / kSharing + i * (kWarpRows / kRows); }
  KILN_MATH int column(int j) { return lane() % kSharing + j * kSharing; }
  // The column of a sum of `add`: neighbours are read at once.
  KILN_MATH int place(int j) { return (j / kEach * kSharing + lane() % kSharing) * kEach + j % kEach; }

  // sums += left * right^T for rows of `kDepth` elements.
  template <int kDepth, int kColumns>
  KILN_MATH void multiply(const Number* left, const Number* right,
                          Number (&sums)[kRows][kColumns / kSharing]) {
    constexpr int kPitch = pitch<Number>(kDepth);
#pragma unroll 1
    for (int k = 0; k < kDepth; k += kEach) {
      Piece<Number> a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) a[i] = piece(left + row(i) * kPitch + k);
#pragma unroll
      for (int j = 0; j < kColumns / kSharing; ++j) {
        const Piece<Number> b = piece(right + column(j) * kPitch + k);
#pragma unroll
        for (int u = 0; u < kEach; ++u) {
#pragma unroll
          for (int i = 0; i < kRows; ++i) sums[i][j] = math::fma(a[i].at[u], b.at[u], sums[i][j]);
        }
      }
    }
  }

  // sums += weights * right, where a row of `right` has kWidth elements and there is one for each column of
  // the weights, which go through `stage`, [16, columns], of this warp.
  template <int kColumns, int kWidth>
  KILN_MATH void add(const Number (&weights)[kRows][kColumns / kSharing], Number* stage, const Number* right,
                     Number (&sums)[kRows][kWidth / kSharing]) {
    constexpr int kPitch = pitch<Number>(kColumns), kWide = pitch<Number>(kWidth);
    __syncwarp();  // what was there has been read
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / kSharing; ++j) stage[row(i) * kPitch + column(j)] = weights[i][j];
    }
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < kColumns; k += kEach) {
      Piece<Number> a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) a[i] = piece(stage + row(i) * kPitch + k);
#pragma unroll
      for (int u = 0; u < kEach; ++u) {
#pragma unroll
        for (int j = 0; j < kWidth / kSharing; j += kEach) {
          const Piece<Number> b = piece(right + (k + u) * kWide + place(j));
#pragma unroll
          for (int v = 0; v < kEach; ++v) {
#pragma unroll
            for (int i = 0; i < kRows; ++i) sums[i][j + v] = math::fma(a[i].at[u], b.at[v], sums[i][j + v]);
          }
        }
      }
    }
  }
};

}  // namespace kiln::cuda
