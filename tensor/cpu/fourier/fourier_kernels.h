// Owns the table of the steps of Fourier transforms, one for every instruction set.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// Transforms work on columns, so many of them side by side as elements are in 64 bytes, whatever the
// instruction set. A block of n numbers of each column is n rows: the real parts of the columns, then their
// imaginary parts. No column sees another, so what lies in columns beyond those asked for does not matter.
template <class T>
inline constexpr std::int64_t kFourierColumns = 64 / static_cast<std::int64_t>(sizeof(T));
template <class T>
inline constexpr std::int64_t kFourierRow = 2 * kFourierColumns<T>;  // elements

// One pass of a transform of radix * groups * stride numbers: from each sum over `radix` of them to the next
// shorter transforms, by decimation in frequency with results in order (T. Stockham, "High-speed convolution
// and correlation", 1966). `twiddles` are radix - 1 complex numbers for each group but the first.
template <class T>
struct FourierPass {
  int radix = 2;
  std::int64_t groups = 1, stride = 1;
  const T* twiddles = nullptr;
};

// The rows of a block. Exchanged parts make a transform the inverse one: those of what it reads, and of what
// it gives.
template <class T>
struct ComplexRows {
  T* real;
  T* imaginary;

  explicit ComplexRows(T* block) : real(block), imaginary(block + kFourierColumns<T>) {}
  ComplexRows exchanged() const {
    ComplexRows rows = *this;
    rows.real = imaginary;
    rows.imaginary = real;
    return rows;
  }
};

// From the rows of columns [first, first + kFourierColumns) of a matrix of `rows` rows to its columns as rows
// of blocks, each number times coarse[row] * fine[row][column].
template <class T>
struct FourierTurn {
  std::int64_t rows = 0;
  const T* coarse = nullptr;  // complex numbers
  const T* fine = nullptr;    // a block
  const T* from = nullptr;    // a block, of rows up to a multiple of kFourierColumns
  T* to = nullptr;            // where the first column of the first rows goes
  std::int64_t to_step = 0;   // from there to that of the next kFourierColumns rows
};

template <class T>
struct FourierKernels {
  void (*pass)(const FourierPass<T>& pass, const ComplexRows<T>& from, const ComplexRows<T>& to) = nullptr;
  // Pairs (real, imaginary) of `columns` columns side by side, `step` pairs from row to row, and a block.
  // Columns that are not there are zeros.
  void (*load_columns)(const T* from, std::int64_t step, std::int64_t rows, std::int64_t columns,
                       T* block) = nullptr;
  void (*store_columns)(const T* block, T* to, std::int64_t step, std::int64_t rows,
                        std::int64_t columns) = nullptr;
  void (*turn)(const FourierTurn<T>& turn) = nullptr;
  void (*scale)(T* values, std::int64_t count, T factor) = nullptr;
  // to[i] = a[i] * b[i], of `count` pairs; with `conjugate` the conjugate of that. `to` may be `a`.
  void (*multiply)(const T* a, const T* b, T* to, std::int64_t count, bool conjugate) = nullptr;
};
struct FourierTable {
  FourierKernels<float> f32;
  FourierKernels<double> f64;

  template <class T>
  const FourierKernels<T>& of() const {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(FourierTable, fourier_table)
