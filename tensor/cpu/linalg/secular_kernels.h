// Owns the table of kernels for eigenvalues of a diagonal matrix and a matrix of rank one, one for every
// instruction set: diag(d) + scale z z' has the eigenvalues x that solve the secular equation
// 1 / scale + sum of z_i^2 / (d_i - x) = 0, one behind each d_i.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// `poles` rise, no z is 0, and scale > 0. There is memory up to the next multiple of kBlockStep beyond
// `count`.
template <class T>
struct Secular {
  int count;         // at least 1
  const T* poles;    // d
  const T* weights;  // z
  T scale;
  const int* places;  // the row of `matrix` that goes with each pole
  T* roots;           // rising
  T* matrix;          // [count, count], rows `ld` apart: d_i - x_j, from which the vectors come
  std::ptrdiff_t ld;
};

template <class T>
struct SecularKernels {
  // The roots, and the columns of `matrix` that belong to them, from `first`, a multiple of kBlockStep, up to
  // `end`. False where iterations did not converge.
  bool (*find_roots)(const Secular<T>& equation, int first, int end);
  // The z, some from `first` on, of which `roots` are the eigenvalues to the last digit: vectors made of
  // these are orthogonal, however close the roots.
  void (*find_weights)(const Secular<T>& equation, T* weights, int first, int end);
  // `matrix` from column `first` on becomes -1 times the eigenvectors. Columns beyond the last, up to a
  // multiple of kBlockStep, become 0.
  void (*find_vectors)(const Secular<T>& equation, const T* weights, int first, int end);
  // c[rows, columns] = -(factor' x) for factor[depth, rows] and x[depth, columns], of at most kBlockStep
  // columns. There is memory beyond rows of x, up to as many.
  void (*combine)(const T* factor, std::ptrdiff_t ld_factor, const T* x, std::ptrdiff_t ldx, T* c,
                  std::ptrdiff_t ldc, int rows, int columns, int depth);
};

struct SecularTable {
  SecularKernels<float> f32;
  SecularKernels<double> f64;

  template <class T>
  const SecularKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(SecularTable, secular_kernels)
