// Owns the sums of short Fourier transforms, written out: X_k = sum of x_j e^(-2 pi i jk / n). Included only
// by files that are compiled once per instruction set.
#pragma once

#include "tensor/cpu/isa/complex_vectors.h"

namespace kiln::cpu::KILN_ISA {

// The numbers become their transform.
template <int kRadix>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T> (&x)[2]) {
    const ComplexVector<T> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  }
};

template <>
struct Butterfly<3> {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T> (&x)[3]) {
    constexpr T kSin = T(0.866025403784438646763723170752936183);  // of 2 pi / 3
    const ComplexVector<T> sum = x[1] + x[2];
    const ComplexVector<T> turned = (x[1] - x[2]).times_minus_i().times(kSin);
    const ComplexVector<T> middle = x[0] - sum.times(T(0.5));
    x[0] = x[0] + sum;
    x[1] = middle + turned;
    x[2] = middle - turned;
  }
};

template <>
struct Butterfly<4> {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T> (&x)[4]) {
    const ComplexVector<T> even = x[0] + x[2], even_apart = x[0] - x[2];
    const ComplexVector<T> odd = x[1] + x[3], odd_apart = (x[1] - x[3]).times_minus_i();
    x[0] = even + odd;
    x[1] = even_apart + odd_apart;
    x[2] = even - odd;
    x[3] = even_apart - odd_apart;
  }
};

template <>
struct Butterfly<5> {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T> (&x)[5]) {
    constexpr T kCos1 = T(0.309016994374947424102293417182819059);   // of 2 pi / 5
    constexpr T kCos2 = T(-0.809016994374947424102293417182819059);  // of 4 pi / 5
    constexpr T kSin1 = T(0.951056516295153572116439333379382143);
    constexpr T kSin2 = T(0.587785252292473129168705954639072769);
    const ComplexVector<T> sum1 = x[1] + x[4], sum2 = x[2] + x[3];
    const ComplexVector<T> apart1 = (x[1] - x[4]).times_minus_i(), apart2 = (x[2] - x[3]).times_minus_i();
    const ComplexVector<T> middle1 = x[0] + sum1.times(kCos1) + sum2.times(kCos2);
    const ComplexVector<T> middle2 = x[0] + sum1.times(kCos2) + sum2.times(kCos1);
    const ComplexVector<T> turned1 = apart1.times(kSin1) + apart2.times(kSin2);
    const ComplexVector<T> turned2 = apart1.times(kSin2) - apart2.times(kSin1);
    x[0] = x[0] + sum1 + sum2;
    x[1] = middle1 + turned1;
    x[2] = middle2 + turned2;
    x[3] = middle2 - turned2;
    x[4] = middle1 - turned1;
  }
};

template <>
struct Butterfly<8> {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T> (&x)[8]) {
    constexpr T kHalfRoot = T(0.707106781186547524400844362104849039);  // sqrt(1/2)
    ComplexVector<T> even[4], odd[4];
    each<4>([&](auto i) __attribute__((always_inline)) {
      even[i] = x[i] + x[i + 4];
      odd[i] = x[i] - x[i + 4];
    });
    odd[1] = (odd[1] + odd[1].times_minus_i()).times(kHalfRoot);
    odd[2] = odd[2].times_minus_i();
    odd[3] = (odd[3].times_minus_i() - odd[3]).times(kHalfRoot);
    Butterfly<4>::apply(even);
    Butterfly<4>::apply(odd);
    each<4>([&](auto i) __attribute__((always_inline)) {
      x[2 * i] = even[i];
      x[2 * i + 1] = odd[i];
    });
  }
};

}  // namespace kiln::cpu::KILN_ISA
