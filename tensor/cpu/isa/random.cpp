// Owns the random number kernels, compiled once per instruction set: lanes of Philox blocks, and Box and
// Muller's transform ("A note on the generation of random normal deviates", 1958) on pairs of words.
#include <algorithm>

#include "tensor/cpu/random_kernels.h"
#include "tensor/math.h"
#include "tensor/philox.h"

namespace kiln::cpu::KILN_ISA {
namespace {

constexpr int kLanes = 16;

// Rounds run over lanes side by side; the block function above is one lane of this.
void lanes_of_blocks(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::uint32_t* out) {
  std::uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(lane);
    x0[lane] = static_cast<std::uint32_t>(index);
    x1[lane] = static_cast<std::uint32_t>(index >> 32);
    x2[lane] = static_cast<std::uint32_t>(offset);
    x3[lane] = static_cast<std::uint32_t>(offset >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const PhiloxBlock next = philox_round({x0[lane], x1[lane], x2[lane], x3[lane]}, k0, k1);
      x0[lane] = next.x0;
      x1[lane] = next.x1;
      x2[lane] = next.x2;
      x3[lane] = next.x3;
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out[4 * lane] = x0[lane];
    out[4 * lane + 1] = x1[lane];
    out[4 * lane + 2] = x2[lane];
    out[4 * lane + 3] = x3[lane];
  }
}

void words(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::int64_t count,
           std::uint32_t* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    lanes_of_blocks(seed, offset, first + static_cast<std::uint64_t>(i), out + 4 * i);
  if (i == count) return;
  std::uint32_t rest[4 * kLanes];
  lanes_of_blocks(seed, offset, first + static_cast<std::uint64_t>(i), rest);
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

// Pairs: the first number gives the radius, the second the angle.
template <class T>
void pairs_to_normal(const T* positive, const T* unit, std::int64_t count, T* out) {
  constexpr T kTwoPi = static_cast<T>(6.283185307179586476925);
  for (std::int64_t i = 0; i < count; ++i) {
    const T radius = math::sqrt(T(-2) * math::log(positive[i]));
    const T angle = kTwoPi * unit[i];
    out[2 * i] = radius * math::cos<true>(angle);
    out[2 * i + 1] = radius * math::sin<true>(angle);
  }
}

constexpr std::int64_t kPairs = 256;

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
