// Owns how kernels read and write elements: halves widen to f32 and narrow back, without branches, so that
// loops over them become vector code. Included only by files that are compiled once per instruction set.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace kiln::cpu::KILN_ISA {

// What elements are computed and accumulated in: wrapping 64-bit integers, f32 for halves, else the type
// itself.
template <class T>
struct AccumulatorFor {
  using type = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
};
template <>
struct AccumulatorFor<Half> {
  using type = float;
};
template <>
struct AccumulatorFor<BFloat16> {
  using type = float;
};
template <class T>
using AccumulatorOf = typename AccumulatorFor<T>::type;

template <class T>
inline AccumulatorOf<T> widen(T x) {
  return x;
}

inline float widen(BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

// Exponents are moved by a multiplication, which also takes care of subnormals; infinities and nans get
// theirs back.
inline float widen(Half x) {
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | (x.bits & 0x8000U) << 16);
}

template <class T>
inline T narrow(AccumulatorOf<T> x) {
  return static_cast<T>(x);
}

template <>
inline BFloat16 narrow<BFloat16>(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded)};
}

// Round to nearest even by letting float addition do the rounding at the half's last place.
template <>
inline Half narrow<Half>(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const float tiny =
      std::bit_cast<float>(magnitude) + 0.5F;  // subnormal results: the sum's low bits are the half
  const std::uint32_t small = std::bit_cast<std::uint32_t>(tiny) - 0x3f000000U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
  const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U | ((magnitude >> 13) & 0x3ffU) : 0x7c00U;
  const std::uint32_t half = magnitude >= 0x477ff000U ? large : finite;
  return {static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000U))};
}

}  // namespace kiln::cpu::KILN_ISA
