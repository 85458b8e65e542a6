// Owns vectors of one instruction set, as wide as it has them, and loops over constants. Included only by
// files that are compiled once per instruction set.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#endif

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

template <class T>
using VectorOf [[gnu::vector_size(kVectorBytes)]] = T;
template <class T>
inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

// Sums that fit the registers, with what is multiplied, when each of so many rows has kVectors of them.
#if defined(__AVX512F__)
inline constexpr int kGroup = 8;
#else
inline constexpr int kGroup = 4;
#endif
inline constexpr int kVectors = 3;

// As wide, of integers: places, and what comparisons give.
template <class T>
using IntVectorOf = VectorOf<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;

// 0, 1, … in the lanes.
template <class T>
inline IntVectorOf<T> lane_numbers() {
  IntVectorOf<T> lanes;
  for (int lane = 0; lane < kWidth<T>; ++lane) lanes[lane] = lane;
  return lanes;
}

// Calls f(0), …, f(count - 1) with constants: what f indexes stays in registers.
template <int kCount, class F>
[[gnu::always_inline]] inline void each(const F& f) {
  [&]<int... kAt>(std::integer_sequence<int, kAt...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, kAt>()), ...);
  }(std::make_integer_sequence<int, kCount>());
}

template <class T>
[[gnu::always_inline]] inline VectorOf<T> load(const T* from) {
  return load_vector<VectorOf<T>>(from);
}
template <class T, class Vector>
[[gnu::always_inline]] inline void store(T* to, const Vector& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

// The first `count` lanes, at most all.
template <class T, class Vector>
[[gnu::always_inline]] inline void store_some(T* to, const Vector& vector, std::int64_t count) {
  if (count == kWidth<T>) return store(to, vector);
#if defined(__AVX512F__)
  const std::uint32_t mask = (1U << count) - 1;
  if constexpr (sizeof(T) == 4)
    return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), reinterpret_cast<__m512i>(vector));
  if constexpr (sizeof(T) == 8)
    return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), reinterpret_cast<__m512i>(vector));
#endif
  for (std::int64_t i = 0; i < count; ++i) to[i] = vector[i];
}

// The sum of the lanes: halves are added until one is left.
template <class T>
inline T total(const VectorOf<T>& vector) {
  T lanes[kWidth<T>];
  std::memcpy(lanes, &vector, sizeof lanes);
#pragma GCC unroll 8
  for (int half = kWidth<T> / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

}  // namespace kiln::cpu::KILN_ISA
