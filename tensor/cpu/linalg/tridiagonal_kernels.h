// Owns the table of the kernel that makes symmetric matrices tridiagonal, one for every instruction set.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

inline constexpr int kTridiagonalPanel = 32;  // columns, at most

// What a panel of columns of a symmetric matrix a[n, n] becomes: reflection j, I - tau_j v_j v_j', turns what
// is below `beside[j]` in column j to zero. All vectors have `order` elements, n and zeros up to a multiple
// of kBlockStep.
template <class T>
struct TridiagonalPanel {
  int first, end;     // columns; `first` is a multiple of kBlockStep
  std::ptrdiff_t ld;  // how far apart vectors and rows of `a` are
  T* v;  // of the panel's columns: of column j of `a` the elements from j on; then v_j, from element j + 1 on
  T* w;  // of the panel's columns: a becomes a - v w' - w v'
  T *diagonal, *beside, *tau;  // of all columns
};

template <class T>
struct TridiagonalKernels {
  // Of `a` the blocks of kBlockStep by kBlockStep on and below the diagonal are read, where it is not reduced
  // yet. Its elements are of about 1 at most: columns whose squares vanish beside it count as zero.
  void (*reduce)(const T* a, int n, int order, const TridiagonalPanel<T>& panel);
};

struct TridiagonalTable {
  TridiagonalKernels<float> f32;
  TridiagonalKernels<double> f64;

  template <class T>
  const TridiagonalKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(TridiagonalTable, tridiagonal_kernels)
