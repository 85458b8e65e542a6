// Owns halves as vectors of f32, widened and rounded in registers, and what goes with them: masks, truth
// values. Included only by files that are compiled once per instruction set, where it converts halves.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "tensor/cpu/isa/vectors.h"
#include "tensor/dtype.h"
#include "tensor/math/arithmetic.h"

namespace kiln::cpu::KILN_ISA {

inline constexpr int kFloats = kWidth<float>;

// Read and written by loops of kFloats steps: GCC makes each one instruction on a vector, and keeps the array
// in a register from one loop to the next. So that it does, all in a loop is 32 bits wide.
using Floats = float[kFloats];
using Words = math::UInt32[kFloats];

#if defined(__clang__)
#define KILN_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define KILN_LANES _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif

// A vector from one place to another, in one instruction: GCC copies an array by vectors of 128 bits, and
// whoever reads it as one of 256 then waits until both are written.
[[gnu::always_inline]] inline void copy_lanes(const void* from, void* to) {
  const auto lanes = load_vector<WideVector<float>>(static_cast<const float*>(from));
  std::memcpy(to, &lanes, sizeof lanes);
}

// Between 32 bits and the low 8 of them.
[[gnu::always_inline]] inline void load_words(const std::uint8_t* from, Words& to) {
#if defined(__AVX512F__)
  const __m512i words = _mm512_maskz_cvtepu8_epi32(0xffff, load_vector<__m128i>(from));
#else
  const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
#endif
  std::memcpy(to, &words, sizeof words);
}
[[gnu::always_inline]] inline void store_words(const Words& from, std::uint8_t* to) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, load_vector<__m512i>(from));
  std::memcpy(to, &bytes, sizeof bytes);
#else
  const auto words = load_vector<__m256i>(from);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(halves, halves));
#endif
}

[[gnu::always_inline]] inline void load_floats(const float* from, Floats& to) { copy_lanes(from, to); }
[[gnu::always_inline]] inline void store_floats(const Floats& from, float* to) { copy_lanes(from, to); }

// The processor makes quiet what is no number, which rounding does at the latest: no result differs.
[[gnu::always_inline]] inline void load_floats(const Half* from, Floats& to) {
#if defined(__AVX512F__)
  const __m512 wide =
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#else
  const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#endif
  std::memcpy(to, &wide, sizeof wide);
}
[[gnu::always_inline]] inline void store_floats(const Floats& from, Half* to) {
#if defined(__AVX512F__)
  const __m256i halves = _mm512_maskz_cvtps_ph(0xffff, load_vector<__m512>(from), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
#else
  const __m128i halves = _mm256_cvtps_ph(load_vector<__m256>(from), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
#endif
}

// ---- Two vectors at a time ----
//
// Of bfloat16 the first vector has the elements at even places and the second the others: each is half of 32
// bits, so no element leaves its lane. Of other types they are one after the other. Masks and truth values go
// with the type, `S`.

inline constexpr int kPair = 2 * kFloats;

template <class S>
[[gnu::always_inline]] inline void load_pair(const S* from, Floats& first, Floats& second) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    Words both;
    copy_lanes(from, both);
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) first[k] = math::bfloat16_to_float(both[k]);
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) second[k] = math::from_bits(both[k] & 0xffff0000U);
  } else {
    load_floats(from, first), load_floats(from + kFloats, second);
  }
}

// What is known of elements that are stored: all are numbers, so that none is asked whether it is; nothing.
enum class Known { Numbers, Nothing };

template <Known kKnown, class S>
[[gnu::always_inline]] inline void store_pair(const Floats& first, const Floats& second, S* to) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    const auto bits = [](float x) __attribute__((always_inline)) {
      if constexpr (kKnown == Known::Numbers) return math::number_to_bfloat16(x);
      return math::rounded_to_bfloat16(x);
    };
    Words both;
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) both[k] = bits(first[k]) >> 16 | (bits(second[k]) & 0xffff0000U);
    copy_lanes(both, to);
  } else {
    store_floats(first, to), store_floats(second, to + kFloats);
  }
}

template <class S>
[[gnu::always_inline]] inline void load_mask_pair(const std::uint8_t* from, Words& first, Words& second) {
  if constexpr (std::is_same_v<S, BFloat16>) {
#if defined(__AVX512F__)
    const __m512i words = _mm512_maskz_cvtepu8_epi16(0xffffffffU, load_vector<__m256i>(from));
#else
    const __m256i words = _mm256_cvtepu8_epi16(load_vector<__m128i>(from));
#endif
    Words both;
    std::memcpy(&both, &words, sizeof both);
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) first[k] = both[k] & 0xffffU;
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) second[k] = both[k] >> 16;
  } else {
    load_words(from, first), load_words(from + kFloats, second);
  }
}

template <class S>
[[gnu::always_inline]] inline void store_truth_pair(const Words& first, const Words& second,
                                                    std::uint8_t* to) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    Words both;
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) both[k] = first[k] | second[k] << 16;
#if defined(__AVX512F__)
    const __m256i bytes = _mm512_maskz_cvtepi16_epi8(0xffffffffU, load_vector<__m512i>(both));
#else
    const auto words = load_vector<__m256i>(both);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
#endif
    std::memcpy(to, &bytes, sizeof bytes);
  } else {
    store_words(first, to), store_words(second, to + kFloats);
  }
}

[[gnu::always_inline]] inline bool any(const Words& words) {
#if defined(__AVX512F__)
  const auto all = load_vector<__m512i>(words);
  return _mm512_test_epi32_mask(all, all) != 0;
#else
  const auto all = load_vector<__m256i>(words);
  return _mm256_testz_si256(all, all) == 0;
#endif
}

}  // namespace kiln::cpu::KILN_ISA
