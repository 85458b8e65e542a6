// Owns vectors of keys (tensor/cpu/order/order_key.h): reading, the greatest of the lanes, which lanes are
// true. Included only by files that are compiled once per instruction set.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstring>
#include <utility>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// Short rows and few columns take vectors narrower than the widest.
template <class Key, int kBytes>
struct KeyVector {
  typedef Key Type __attribute__((vector_size(kBytes)));
  static constexpr std::int64_t kLanes = kBytes / static_cast<int>(sizeof(Key));
};

template <class V>
[[gnu::always_inline]] inline V greater(V a, V b) {
  return a > b ? a : b;
}

template <int kBy, class V, int... kAt>
[[gnu::always_inline]] inline V rotated(V v, std::integer_sequence<int, kAt...>) {
  constexpr int kLanes = sizeof...(kAt);
  return __builtin_shufflevector(v, v, ((kAt + kBy) % kLanes)...);
}

template <int kHalf, int kLanes, class V>
[[gnu::always_inline]] inline V greatest_everywhere(V v) {
  if constexpr (kHalf == 0) {
    return v;
  } else {
    v = greater(v, rotated<kHalf>(v, std::make_integer_sequence<int, kLanes>()));
    return greatest_everywhere<kHalf / 2, kLanes>(v);
  }
}

// The greatest lane, in all lanes.
template <class Key, class V>
[[gnu::always_inline]] inline V greatest_lane(V v) {
  constexpr int kLanes = sizeof(V) / sizeof(Key);
  return greatest_everywhere<kLanes / 2, kLanes>(v);
}

// A bit for every byte of the true lanes of a comparison.
template <class V>
[[gnu::always_inline]] inline std::uint64_t true_bytes(V lanes) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) return _mm512_movepi8_mask(reinterpret_cast<__m512i>(lanes));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(lanes)));
#endif
  if constexpr (sizeof(V) == 16)
    return static_cast<std::uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(lanes)));
}

// Calls f.template operator()<kBytes>() with the widest vectors that `bytes` fill, at least 16.
template <class F>
[[gnu::always_inline]] inline void with_vectors_within(std::int64_t bytes, const F& f) {
  if constexpr (kVectorBytes >= 64)
    if (bytes >= 64) return f.template operator()<64>();
  if constexpr (kVectorBytes >= 32)
    if (bytes >= 32) return f.template operator()<32>();
  f.template operator()<16>();
}

}  // namespace kiln::cpu::KILN_ISA
