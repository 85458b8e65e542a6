// Owns the reduction of panels of symmetric matrices to tridiagonal form (Dongarra, Hammarling and Sorensen,
// 1989), compiled once per instruction set. Multiplications and additions are fused where that is possible.
#include "tensor/cpu/linalg/tridiagonal_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/linalg/block_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

int block_of(int index) { return index / kBlockStep * kBlockStep; }

// y[from, to) = a x for the symmetric part of `a` from `from` on: blocks below the diagonal are read once,
// for the rows and for the columns that they stand for.
template <class T>
void multiply_symmetric(const T* a, std::ptrdiff_t ld, const T* x, T* y, int from, int to) {
  using Vector = VectorOf<T>;
  std::fill(y + from, y + to, T(0));
  for (int i = from; i < to; i += kGroup) {
    const T* rows = a + i * ld;
    const int diagonal = block_of(i);
    Vector sum[kGroup], own[kGroup];
    each<kGroup>([&](auto r) __attribute__((always_inline)) {
      sum[r] = Vector{};
      own[r] = Vector{} + x[i + r];
    });
    for (int j = from; j < diagonal; j += kWidth<T>) {
      const Vector right = load(x + j);
      Vector below = load(y + j);
      each<kGroup>([&](auto r) __attribute__((always_inline)) {
        const Vector left = load(rows + r * ld + j);
        sum[r] += left * right;
        below += left * own[r];
      });
      store(y + j, below);
    }
    for (int j = diagonal; j < diagonal + kBlockStep; j += kWidth<T>) {
      const Vector right = load(x + j);
      each<kGroup>([&](auto r) __attribute__((always_inline)) { sum[r] += load(rows + r * ld + j) * right; });
    }
    each<kGroup>([&](auto r) __attribute__((always_inline)) { y[i + r] += total<T>(sum[r]); });
  }
}

// The dot product of x and y from `from` to `to`.
template <class T>
T dot(const T* x, const T* y, int from, int to) {
  VectorOf<T> sum{};
  for (int i = from; i < to; i += kWidth<T>) sum += load(x + i) * load(y + i);
  return total<T>(sum);
}

// y -= scale[0] x[0] + scale[step] x[ld] + …, of `count` vectors x, from `from` to `to`.
template <class T>
void subtract_vectors(const T* scale, std::ptrdiff_t step, const T* x, std::ptrdiff_t ld, int count, T* y,
                      int from, int to) {
  constexpr int kStrip = 4;
  const auto strip = [&]<int kMany>(int i) {
    VectorOf<T> sum[kMany];
    each<kMany>([&](auto v) __attribute__((always_inline)) { sum[v] = load(y + i + v * kWidth<T>); });
    for (int p = 0; p < count; ++p) {
      const T left = scale[p * step];
      each<kMany>([&](auto v) __attribute__((always_inline)) {
        sum[v] -= left * load(x + p * ld + i + v * kWidth<T>);
      });
    }
    each<kMany>([&](auto v) __attribute__((always_inline)) { store(y + i + v * kWidth<T>, sum[v]); });
  };
  int i = from;
  for (; i + kStrip * kWidth<T> <= to; i += kStrip * kWidth<T>) strip.template operator()<kStrip>(i);
  for (; i < to; i += kWidth<T>) strip.template operator()<1>(i);
}

// x, of which elements before `first` are zero, becomes v with v[first] = 1, and (I - tau v v') x has one
// element, `left`, at `first`.
template <class T>
T reflect(T* x, int first, int order, T& left) {
  const T head = std::exchange(x[first], T(0));
  const T tail = dot(x, x, block_of(first), order);
  x[first] = 1;
  left = head;
  constexpr T kUnit = std::numeric_limits<T>::epsilon();
  if (tail < std::numeric_limits<T>::min() / (kUnit * kUnit)) {
    std::fill(x + first + 1, x + order, T(0));
    return 0;
  }
  left = -std::copysign(std::sqrt(head * head + tail), head);
  const T scale = 1 / (head - left);
  for (int i = first + 1; i < order; ++i) x[i] *= scale;
  return (left - head) / left;
}

// w = tau (a - v w' - w v') x - ((tau² x' (a - v w' - w v') x) / 2) x for `before` vectors v and w.
template <class T>
void find_image(const T* a, const TridiagonalPanel<T>& panel, const T* x, int before, T tau, int from,
                int order) {
  T along_v[kTridiagonalPanel] = {}, along_w[kTridiagonalPanel] = {};
  T* image = panel.w + before * panel.ld;
  multiply_symmetric(a, panel.ld, x, image, from, order);
  for (int p = 0; p < before; ++p) {
    along_v[p] = dot(panel.v + p * panel.ld, x, from, order);
    along_w[p] = dot(panel.w + p * panel.ld, x, from, order);
  }
  subtract_vectors(along_w, 1, panel.v, panel.ld, before, image, from, order);
  subtract_vectors(along_v, 1, panel.w, panel.ld, before, image, from, order);
  const T share = tau * tau * dot(image, x, from, order) / 2;
  for (int i = from; i < order; ++i) image[i] = tau * image[i] - share * x[i];
}

template <class T>
void reduce(const T* a, int n, int order, const TridiagonalPanel<T>& panel) {
  for (int j = panel.first; j < panel.end; ++j) {
    const int before = j - panel.first;
    T* column = panel.v + before * panel.ld;
    subtract_vectors(panel.w + j, panel.ld, panel.v, panel.ld, before, column, block_of(j), order);
    subtract_vectors(panel.v + j, panel.ld, panel.w, panel.ld, before, column, block_of(j), order);
    panel.diagonal[j] = column[j];
    if (j + 1 == n) return;
    std::fill(column + block_of(j), column + j + 1, T(0));
    const T tau = reflect(column, j + 1, order, panel.beside[j]);
    panel.tau[j] = tau;
    if (tau == 0) {
      std::fill_n(panel.w + before * panel.ld, order, T(0));
    } else {
      find_image(a, panel, column, before, tau, block_of(j + 1), order);
    }
  }
}

constexpr TridiagonalTable kTable{{reduce<float>}, {reduce<double>}};

}  // namespace

const TridiagonalTable& tridiagonal_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
