// Owns how a vector of accumulators is read from memory: as it is, or from narrower elements, which are
// widened in registers. Included only by files that are compiled once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "tensor/cpu/isa/elements.h"

namespace kiln::cpu::KILN_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
using WideVector [[gnu::vector_size(kVectorBytes)]] = T;

template <class Vector, class T>
inline Vector load_vector(const T* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// `load_wide` where no instruction converts halves. Not inline: kernels have many of them.
template <class T, class In>
[[gnu::noinline]] WideVector<T> load_halves(const In* from) {
  WideVector<T> v;
  for (std::size_t j = 0; j < sizeof(v) / sizeof(T); ++j) v[j] = static_cast<T>(widen(from[j]));
  return v;
}

// As many elements as a vector of T holds. What is no number becomes quiet on the way, as it would when it is
// rounded to its own type again.
template <class T, class In>
[[gnu::always_inline]] inline WideVector<T> load_wide(const In* from) {
  using Vector = WideVector<T>;
  if constexpr (std::is_same_v<T, In>) return load_vector<Vector>(from);
#if defined(__AVX512F__)
  else if constexpr (std::is_same_v<In, Half>)
    return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xffff, load_vector<__m256i>(from)));
  else if constexpr (std::is_same_v<In, BFloat16>)
    return reinterpret_cast<Vector>(
        _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, load_vector<__m256i>(from)), 16));
  else if constexpr (std::is_same_v<In, std::int8_t>)
    return reinterpret_cast<Vector>(_mm512_maskz_cvtepi8_epi32(0xffff, load_vector<__m128i>(from)));
  else if constexpr (std::is_same_v<In, std::uint8_t>)
    return reinterpret_cast<Vector>(_mm512_maskz_cvtepu8_epi32(0xffff, load_vector<__m128i>(from)));
  else if constexpr (std::is_same_v<In, std::int16_t>)
    return reinterpret_cast<Vector>(_mm512_maskz_cvtepi16_epi32(0xffff, load_vector<__m256i>(from)));
#elif defined(__AVX2__)
  else if constexpr (std::is_same_v<In, Half>)
    return reinterpret_cast<Vector>(_mm256_cvtph_ps(load_vector<__m128i>(from)));
  else if constexpr (std::is_same_v<In, BFloat16>)
    return reinterpret_cast<Vector>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_vector<__m128i>(from)), 16));
#endif
  else if constexpr (std::is_same_v<In, Half> || std::is_same_v<In, BFloat16>)
    return load_halves<T>(from);
  else {
    Vector v;
    for (std::size_t j = 0; j < sizeof(Vector) / sizeof(T); ++j) v[j] = static_cast<T>(widen(from[j]));
    return v;
  }
}

// `load_masked` element by element. Not inline: kernels have many of them.
template <class T, class In>
[[gnu::noinline]] WideVector<T> load_masked_elements(const In* from, std::uint64_t mask, T fill) {
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  T elements[kWidth];
  for (int j = 0; j < kWidth; ++j)
    elements[j] = (mask >> j & 1U) != 0 ? static_cast<T>(widen(from[j])) : fill;
  return load_vector<WideVector<T>>(elements);
}

// Whether `load_masked` takes no longer than `load_wide`.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
inline constexpr bool kMasksAreFree = true;
#else
inline constexpr bool kMasksAreFree = false;
#endif

// Of as many elements as a vector of T holds those whose bits are in the mask, `fill` for the others, which
// are not read.
template <class T, class In>
[[gnu::always_inline]] inline WideVector<T> load_masked(const In* from, std::uint64_t mask, T fill) {
  using Vector [[maybe_unused]] = WideVector<T>;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const auto filled = reinterpret_cast<__m512i>(Vector{} + fill);
  [[maybe_unused]] const auto mask16 = static_cast<__mmask16>(mask);
  if constexpr (std::is_same_v<T, In>) {
    if constexpr (sizeof(T) == 8)
      return reinterpret_cast<Vector>(_mm512_mask_loadu_epi64(filled, static_cast<__mmask8>(mask), from));
    if constexpr (sizeof(T) == 4)
      return reinterpret_cast<Vector>(_mm512_mask_loadu_epi32(filled, mask16, from));
    if constexpr (sizeof(T) == 2)
      return reinterpret_cast<Vector>(_mm512_mask_loadu_epi16(filled, static_cast<__mmask32>(mask), from));
    if constexpr (sizeof(T) == 1)
      return reinterpret_cast<Vector>(_mm512_mask_loadu_epi8(filled, static_cast<__mmask64>(mask), from));
  } else if constexpr (sizeof(In) == 2) {
    const __m256i some = _mm256_maskz_loadu_epi16(mask16, from);
    if constexpr (std::is_same_v<In, Half>)
      return reinterpret_cast<Vector>(_mm512_mask_cvtph_ps(reinterpret_cast<__m512>(filled), mask16, some));
    if constexpr (std::is_same_v<In, BFloat16>)
      return reinterpret_cast<Vector>(
          _mm512_mask_slli_epi32(filled, mask16, _mm512_maskz_cvtepu16_epi32(mask16, some), 16));
    if constexpr (std::is_same_v<In, std::int16_t>)
      return reinterpret_cast<Vector>(_mm512_mask_cvtepi16_epi32(filled, mask16, some));
  } else {
    const __m128i some = _mm_maskz_loadu_epi8(mask16, from);
    if constexpr (std::is_signed_v<In>)
      return reinterpret_cast<Vector>(_mm512_mask_cvtepi8_epi32(filled, mask16, some));
    else
      return reinterpret_cast<Vector>(_mm512_mask_cvtepu8_epi32(filled, mask16, some));
  }
#else
#if defined(__AVX2__)
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  if constexpr (std::is_same_v<T, In> && sizeof(T) >= 4) {
    using Bits = std::conditional_t<sizeof(T) == 4, int, long long>;
    WideVector<Bits> bits;
    for (int j = 0; j < kWidth; ++j) bits[j] = Bits{1} << j;
    const auto wanted = (bits & static_cast<Bits>(mask)) != 0;
    const auto* const places = reinterpret_cast<const Bits*>(from);
    Vector some;
    if constexpr (sizeof(T) == 4)
      some = reinterpret_cast<Vector>(_mm256_maskload_epi32(places, reinterpret_cast<__m256i>(wanted)));
    else
      some = reinterpret_cast<Vector>(_mm256_maskload_epi64(places, reinterpret_cast<__m256i>(wanted)));
    return wanted ? some : Vector{} + fill;
  }
#endif
  return load_masked_elements<T>(from, mask, fill);
#endif
}

// The first `count` of them, fewer than a vector holds, and `fill` behind.
template <class T, class In>
[[gnu::always_inline]] inline WideVector<T> load_some(const In* from, std::int64_t count, T fill) {
  return load_masked<T>(from, (std::uint64_t{1} << count) - 1, fill);
}

template <class In>
inline constexpr bool kIsHalf = std::is_same_v<In, Half> || std::is_same_v<In, BFloat16>;

template <class In>
void widen_all(const In* in, std::int64_t count, float* out) {
  constexpr std::int64_t kWidth = kVectorBytes / static_cast<int>(sizeof(float));
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const auto wide = load_wide<float>(in + i);
    std::memcpy(out + i, &wide, sizeof wide);
  }
  for (; i < count; ++i) out[i] = widen(in[i]);
}

// Halves of f32, rounded to the nearest, ties to even.
template <class Out>
[[gnu::always_inline]] inline void narrow_all(const float* in, std::int64_t count, Out* out) {
  std::int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Out, Half>) {
    for (; i + 16 <= count; i += 16) {
      const __m256i halves =
          _mm512_maskz_cvtps_ph(0xffff, load_vector<__m512>(in + i), _MM_FROUND_TO_NEAREST_INT);
      std::memcpy(static_cast<void*>(out + i), &halves, sizeof halves);
    }
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<Out, Half>) {
    for (; i + 8 <= count; i += 8) {
      const __m128i halves = _mm256_cvtps_ph(load_vector<__m256>(in + i), _MM_FROUND_TO_NEAREST_INT);
      std::memcpy(static_cast<void*>(out + i), &halves, sizeof halves);
    }
  }
#endif
  for (; i < count; ++i) out[i] = narrow<Out>(in[i]);
}

}  // namespace kiln::cpu::KILN_ISA
