// Owns vectors of complex numbers, and reading them from memory where pairs (real, imaginary) lie. Included
// only by files that are compiled once per instruction set.
#pragma once

#include <utility>

#include "tensor/cpu/isa/vectors.h"

namespace kiln::cpu::KILN_ISA {

// Complex numbers, one in each lane.
template <class T>
struct ComplexVector {
  VectorOf<T> re, im;

  [[gnu::always_inline]] friend ComplexVector operator+(const ComplexVector& a, const ComplexVector& b) {
    return {a.re + b.re, a.im + b.im};
  }
  [[gnu::always_inline]] friend ComplexVector operator-(const ComplexVector& a, const ComplexVector& b) {
    return {a.re - b.re, a.im - b.im};
  }
  // By a real number.
  [[gnu::always_inline]] ComplexVector times(T factor) const { return {re * factor, im * factor}; }
  // By complex numbers: one, or one in each lane.
  [[gnu::always_inline]] ComplexVector times(T other_re, T other_im) const {
    return {re * other_re - im * other_im, re * other_im + im * other_re};
  }
  [[gnu::always_inline]] ComplexVector times(const ComplexVector& other) const {
    return {re * other.re - im * other.im, re * other.im + im * other.re};
  }
  [[gnu::always_inline]] ComplexVector times_minus_i() const { return {im, -re}; }
};

template <class T>
inline constexpr std::make_integer_sequence<int, kWidth<T>> kAllLanes;

// Pairs become real and imaginary parts, and back.
template <class T, int... kAt>
[[gnu::always_inline]] inline ComplexVector<T> load_pairs(const T* from, std::integer_sequence<int, kAt...>) {
  const VectorOf<T> a = load(from), b = load(from + kWidth<T>);
  return {__builtin_shufflevector(a, b, (2 * kAt)...), __builtin_shufflevector(a, b, (2 * kAt + 1)...)};
}
template <class T, int... kAt>
[[gnu::always_inline]] inline void store_pairs(T* to, const ComplexVector<T>& x,
                                               std::integer_sequence<int, kAt...>) {
  constexpr int kSide = kWidth<T>;
  const VectorOf<T> first = __builtin_shufflevector(x.re, x.im, (kAt / 2 + kAt % 2 * kSide)...);
  const VectorOf<T> second = __builtin_shufflevector(x.re, x.im, (kSide / 2 + kAt / 2 + kAt % 2 * kSide)...);
  store(to, first);
  store(to + kSide, second);
}

// The lanes in reverse.
template <class T, int... kAt>
[[gnu::always_inline]] inline ComplexVector<T> reversed(const ComplexVector<T>& x,
                                                        std::integer_sequence<int, kAt...>) {
  constexpr int kLast = kWidth<T> - 1;
  return {__builtin_shufflevector(x.re, x.re, (kLast - kAt)...),
          __builtin_shufflevector(x.im, x.im, (kLast - kAt)...)};
}

}  // namespace kiln::cpu::KILN_ISA
