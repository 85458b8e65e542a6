// Owns what factorizations of real and of complex matrices share: elements are float, double, or std::complex
// of them, which lie in memory as elements of complex dtypes do.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

namespace kiln::cpu {

template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename PartOf<T>::type;

template <class T>
T conjugated(T x) {
  return x;
}
template <class T>
std::complex<T> conjugated(std::complex<T> x) {
  return std::conj(x);
}

template <class T>
T real_part(T x) {
  return x;
}
template <class T>
T real_part(std::complex<T> x) {
  return x.real();
}

// x / |x|, and 0 of 0.
template <class T>
T direction(T x) {
  return x == T(0) ? T(0) : std::copysign(T(1), x);
}
template <class T>
std::complex<T> direction(std::complex<T> x) {
  return x == std::complex<T>(0) ? x : x / std::abs(x);
}

// The real numbers of which elements consist, and how many there are for each.
template <class T>
const RealOf<T>* parts(const T* x) {
  return reinterpret_cast<const RealOf<T>*>(x);
}
template <class T>
inline constexpr std::int64_t kParts = sizeof(T) / sizeof(RealOf<T>);

// Turns a column by the phase that makes the largest of its elements a positive number: eigenvectors and
// singular vectors of complex matrices are determined up to that. Gives the factor. Real ones keep their
// sign.
template <class T>
T settle_phase(T*, std::int64_t) {
  return T(1);
}
template <class T>
std::complex<T> settle_phase(std::complex<T>* x, std::int64_t count) {
  std::int64_t largest = 0;
  for (std::int64_t i = 1; i < count; ++i)
    if (std::norm(x[i]) > std::norm(x[largest])) largest = i;
  if (count == 0 || x[largest] == std::complex<T>(0)) return 1;
  const T size = std::abs(x[largest]);
  const std::complex<T> turn = std::conj(x[largest]) / size;
  for (std::int64_t i = 0; i < count; ++i) x[i] *= turn;
  x[largest] = size;
  return turn;
}

}  // namespace kiln::cpu
