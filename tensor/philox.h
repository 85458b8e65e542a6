// Owns the Philox 4x32-10 block function (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC'11), in a form that loops over lanes can inline, and how its words become numbers. For kernels of every
// instruction set and NVRTC: no standard headers.
#pragma once

namespace kiln {

using PhiloxWord = unsigned;
using PhiloxPair = unsigned long long;

struct PhiloxBlock {
  PhiloxWord x0, x1, x2, x3;
};

inline constexpr PhiloxWord kPhiloxM0 = 0xD2511F53U;
inline constexpr PhiloxWord kPhiloxM1 = 0xCD9E8D57U;
inline constexpr PhiloxWord kPhiloxW0 = 0x9E3779B9U;
inline constexpr PhiloxWord kPhiloxW1 = 0xBB67AE85U;
inline constexpr int kPhiloxRounds = 10;

constexpr PhiloxBlock philox_round(PhiloxBlock c, PhiloxWord k0, PhiloxWord k1) {
  const PhiloxPair a = PhiloxPair{kPhiloxM0} * c.x0;
  const PhiloxPair b = PhiloxPair{kPhiloxM1} * c.x2;
  return {static_cast<PhiloxWord>(b >> 32) ^ c.x1 ^ k0, static_cast<PhiloxWord>(b),
          static_cast<PhiloxWord>(a >> 32) ^ c.x3 ^ k1, static_cast<PhiloxWord>(a)};
}

constexpr PhiloxBlock philox_block(PhiloxBlock counter, PhiloxWord k0, PhiloxWord k1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    counter = philox_round(counter, k0, k1);
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return counter;
}

// Element i of a draw takes 32-bit word i % 4 of block i / 4, or the 64-bit word i % 2 of block i / 2: f64
// numbers and integers. A 64-bit word has its low half first.
inline constexpr int kNarrowPerBlock = 4;
inline constexpr int kWidePerBlock = 2;

// Uniform in [0, 1), every multiple of 2^-24 (2^-53) alike.
constexpr float unit_float(PhiloxWord word) { return static_cast<float>(word >> 8) * 0x1p-24F; }
constexpr double unit_double(PhiloxPair word) { return static_cast<double>(word >> 11) * 0x1p-53; }
// Uniform in (0, 1], never 0: for logarithms.
constexpr float positive_float(PhiloxWord word) {
  return static_cast<float>(static_cast<double>(word) * 0x1p-32 + 0x1p-33);
}
constexpr double positive_double(PhiloxPair word) {
  return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

}  // namespace kiln
