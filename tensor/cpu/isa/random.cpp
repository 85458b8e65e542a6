// Owns the random number kernels, compiled once per instruction set: lanes of Philox blocks, and Box and
// Muller's transform ("A note on the generation of random normal deviates", 1958) on pairs of words.
#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "tensor/cpu/isa/lanes.h"
#include "tensor/cpu/random/random_kernels.h"
#include "tensor/math.h"
#include "tensor/philox.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// Blocks side by side, one to a lane of 64 bits. Only the low half of a lane counts: multiplications ignore
// the other, which saves clearing it.
typedef std::uint64_t Lane __attribute__((vector_size(kVectorBytes)));
constexpr int kWidth = kVectorBytes / 8;
constexpr int kVectors = 4;  // at once: a multiplication takes several cycles
constexpr std::int64_t kTogether = std::int64_t{kVectors} * kWidth;

inline Lane product_of_low_halves(Lane a, Lane b) {
#if defined(__AVX512F__)
  return (Lane)_mm512_maskz_mul_epu32(0xff, (__m512i)a,
                                      (__m512i)b);  // unmasked, GCC 12 warns of its own header
#elif defined(__AVX2__)
  return (Lane)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Lane)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffffU) * (b & 0xffffffffU);
#endif
}

// kTogether blocks: in each lane what `philox_block` does.
void blocks_together(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::uint32_t* out) {
  Lane x0[kVectors], x1[kVectors], x2[kVectors], x3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    for (int lane = 0; lane < kWidth; ++lane)
      x0[v][lane] = first + static_cast<std::uint64_t>(v * kWidth + lane);
    x1[v] = x0[v] >> 32;
    x2[v] = Lane{} + offset;
    x3[v] = x2[v] >> 32;
  }
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int v = 0; v < kVectors; ++v) {
      const Lane a = product_of_low_halves(x0[v], Lane{} + kPhiloxM0);
      const Lane b = product_of_low_halves(x2[v], Lane{} + kPhiloxM1);
      x0[v] = (b >> 32) ^ x1[v] ^ (Lane{} + k0);
      x1[v] = b;
      x2[v] = (a >> 32) ^ x3[v] ^ (Lane{} + k1);
      x3[v] = a;
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  for (int v = 0; v < kVectors; ++v) {
    const Lane front = (x0[v] & 0xffffffffU) | x1[v] << 32, back = (x2[v] & 0xffffffffU) | x3[v] << 32;
    for (int lane = 0; lane < kWidth; ++lane) {
      const std::uint64_t pairs[] = {front[lane], back[lane]};
      std::memcpy(out + 4 * (v * kWidth + lane), pairs, sizeof pairs);
    }
  }
}

void words(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::int64_t count,
           std::uint32_t* out) {
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether)
    blocks_together(seed, offset, first + static_cast<std::uint64_t>(i), out + 4 * i);
  if (i == count) return;
  std::uint32_t rest[4 * kTogether];
  blocks_together(seed, offset, first + static_cast<std::uint64_t>(i), rest);
  std::copy_n(rest, 4 * (count - i), out + 4 * i);
}

std::uint64_t wide(const std::uint32_t* words, std::int64_t i) {
  return words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32;
}

void uniform_f32(const std::uint32_t* words, std::int64_t blocks, float* out) {
  for (std::int64_t i = 0; i < blocks * kNarrowPerBlock; ++i) out[i] = unit_float(words[i]);
}

void uniform_f64(const std::uint32_t* words, std::int64_t blocks, double* out) {
  for (std::int64_t i = 0; i < blocks * kWidePerBlock; ++i) out[i] = unit_double(wide(words, i));
}

constexpr std::int64_t kPairs = 256;

// At most kPairs of them: the first number gives the radius, the second the angle. Loops short enough to
// become vector code.
template <class T>
void pairs_to_normal(const T* positive, const T* unit, std::int64_t count, T* out) {
  constexpr T kTwoPi = static_cast<T>(6.283185307179586476925);
  T radius[kPairs], across[kPairs], up[kPairs];
  for (std::int64_t i = 0; i < count; ++i) radius[i] = math::sqrt(T(-2) * math::log(positive[i]));
  for (std::int64_t i = 0; i < count; ++i) across[i] = radius[i] * math::cos<true>(kTwoPi * unit[i]);
  for (std::int64_t i = 0; i < count; ++i) up[i] = radius[i] * math::sin<true>(kTwoPi * unit[i]);
  for (std::int64_t i = 0; i < count; ++i) {
    out[2 * i] = across[i];
    out[2 * i + 1] = up[i];
  }
}

void normal_f32(const std::uint32_t* words, std::int64_t blocks, float* out) {
  float positive[kPairs], unit[kPairs];
  for (std::int64_t at = 0; at < 2 * blocks; at += kPairs) {
    const std::int64_t count = std::min(kPairs, 2 * blocks - at);
    for (std::int64_t i = 0; i < count; ++i) {
      positive[i] = positive_float(words[2 * (at + i)]);
      unit[i] = unit_float(words[2 * (at + i) + 1]);
    }
    pairs_to_normal(positive, unit, count, out + 2 * at);
  }
}

void normal_f64(const std::uint32_t* words, std::int64_t blocks, double* out) {
  double positive[kPairs], unit[kPairs];
  for (std::int64_t at = 0; at < blocks; at += kPairs) {
    const std::int64_t count = std::min(kPairs, blocks - at);
    for (std::int64_t i = 0; i < count; ++i) {
      positive[i] = positive_double(wide(words, 2 * (at + i)));
      unit[i] = unit_double(wide(words, 2 * (at + i) + 1));
    }
    pairs_to_normal(positive, unit, count, out + 2 * at);
  }
}

constexpr RandomKernels kKernels{words, uniform_f32, uniform_f64, normal_f32, normal_f64};

}  // namespace

const RandomKernels& random_kernels() { return kKernels; }

}  // namespace kiln::cpu::KILN_ISA
