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

// Between 32 bits and the low 16 or 8 of them.
[[gnu::always_inline]] inline void load_words(const std::uint16_t* from, Words& to) {
#if defined(__AVX512F__)
  const __m512i words = _mm512_maskz_cvtepu16_epi32(0xffff, load_vector<__m256i>(from));
#else
  const __m256i words = _mm256_cvtepu16_epi32(load_vector<__m128i>(from));
#endif
  std::memcpy(to, &words, sizeof words);
}
[[gnu::always_inline]] inline void load_words(const std::uint8_t* from, Words& to) {
#if defined(__AVX512F__)
  const __m512i words = _mm512_maskz_cvtepu8_epi32(0xffff, load_vector<__m128i>(from));
#else
  const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
#endif
  std::memcpy(to, &words, sizeof words);
}
[[gnu::always_inline]] inline void store_words(const Words& from, std::uint16_t* to) {
#if defined(__AVX512F__)
  const __m256i halves = _mm512_maskz_cvtepi32_epi16(0xffff, load_vector<__m512i>(from));
#else
  const auto words = load_vector<__m256i>(from);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
#endif
  std::memcpy(to, &halves, sizeof halves);
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

[[gnu::always_inline]] inline void load_floats(const float* from, Floats& to) {
  std::memcpy(to, from, sizeof to);
}
[[gnu::always_inline]] inline void store_floats(const Floats& from, float* to) {
  std::memcpy(to, from, sizeof from);
}

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

[[gnu::always_inline]] inline void load_floats(const BFloat16* from, Floats& to) {
  Words bits;
  load_words(reinterpret_cast<const std::uint16_t*>(from), bits);
  KILN_LANES
  for (int k = 0; k < kFloats; ++k) to[k] = math::bfloat16_to_float(bits[k]);
}
[[gnu::always_inline]] inline void store_floats(const Floats& from, BFloat16* to) {
  Words bits;
  KILN_LANES
  for (int k = 0; k < kFloats; ++k) bits[k] = math::float_to_bfloat16(from[k]);
  store_words(bits, reinterpret_cast<std::uint16_t*>(to));
}

// Of numbers that bfloat16 has: their upper halves. What is no number becomes quiet, as by rounding.
[[gnu::always_inline]] inline void store_representable(const Floats& from, BFloat16* to) {
#if defined(__AVX512F__)
  const auto floats = load_vector<__m512>(from);
  if (_mm512_cmp_ps_mask(floats, floats, _CMP_UNORD_Q) != 0) [[unlikely]] {
    store_floats(from, to);
    return;
  }
  const __m256i halves =
      _mm512_maskz_cvtepi32_epi16(0xffff, _mm512_srli_epi32(_mm512_castps_si512(floats), 16));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
#else
  store_floats(from, to);
#endif
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
