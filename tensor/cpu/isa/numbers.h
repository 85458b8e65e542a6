// Owns extrema of vectors of floats that are numbers: there is one instruction for each, which gives the
// second operand where neither is greater (or less), as `MaxOf` and `MinOf` do, but also where one is a nan.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "tensor/cpu/isa/wide_load.h"

namespace kiln::cpu::KILN_ISA {

// Whether the instruction set has them with registers enough for all lanes of T.
template <class T>
inline constexpr bool kHasNumbers =
#if defined(__AVX2__)
    std::is_same_v<T, float> || std::is_same_v<T, double>;
#else
    false;
#endif

#if defined(__AVX2__)

#if defined(__AVX512F__)
// With a mask of all lanes: without one, GCC 12 takes the operand for masked lanes for uninitialized.
template <bool kGreatest>
[[gnu::always_inline]] inline WideVector<float> extremum_of_numbers(WideVector<float> a,
                                                                    WideVector<float> b) {
  const auto x = reinterpret_cast<__m512>(a), y = reinterpret_cast<__m512>(b);
  return reinterpret_cast<WideVector<float>>(kGreatest ? _mm512_maskz_max_ps(0xffff, x, y)
                                                       : _mm512_maskz_min_ps(0xffff, x, y));
}
template <bool kGreatest>
[[gnu::always_inline]] inline WideVector<double> extremum_of_numbers(WideVector<double> a,
                                                                     WideVector<double> b) {
  const auto x = reinterpret_cast<__m512d>(a), y = reinterpret_cast<__m512d>(b);
  return reinterpret_cast<WideVector<double>>(kGreatest ? _mm512_maskz_max_pd(0xff, x, y)
                                                        : _mm512_maskz_min_pd(0xff, x, y));
}
#else
template <bool kGreatest>
[[gnu::always_inline]] inline WideVector<float> extremum_of_numbers(WideVector<float> a,
                                                                    WideVector<float> b) {
  const auto x = reinterpret_cast<__m256>(a), y = reinterpret_cast<__m256>(b);
  return reinterpret_cast<WideVector<float>>(kGreatest ? _mm256_max_ps(x, y) : _mm256_min_ps(x, y));
}
template <bool kGreatest>
[[gnu::always_inline]] inline WideVector<double> extremum_of_numbers(WideVector<double> a,
                                                                     WideVector<double> b) {
  const auto x = reinterpret_cast<__m256d>(a), y = reinterpret_cast<__m256d>(b);
  return reinterpret_cast<WideVector<double>>(kGreatest ? _mm256_max_pd(x, y) : _mm256_min_pd(x, y));
}
#endif

// Whether any of the vectors that were looked at holds a nan.
template <class T>
class Nans {
 public:
  // Two at a time: an instruction tells whether either of its operands is one.
  [[gnu::always_inline]] void look(WideVector<T> a, WideVector<T> b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>)
      seen_ |= _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), _CMP_UNORD_Q);
    else
      seen_ |= _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), _CMP_UNORD_Q);
#else
    seen_ |= unordered(a, b);
#endif
  }
  bool any() const {
#if defined(__AVX512F__)
    return seen_ != 0;
#else
    if constexpr (std::is_same_v<T, float>)
      return _mm256_movemask_ps(reinterpret_cast<__m256>(seen_)) != 0;
    else
      return _mm256_movemask_pd(reinterpret_cast<__m256d>(seen_)) != 0;
#endif
  }

 private:
#if defined(__AVX512F__)
  std::uint32_t seen_ = 0;
#else
  [[gnu::always_inline]] static WideVector<std::uint64_t> unordered(WideVector<T> a, WideVector<T> b) {
    if constexpr (std::is_same_v<T, float>)
      return reinterpret_cast<WideVector<std::uint64_t>>(
          _mm256_cmp_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), _CMP_UNORD_Q));
    else
      return reinterpret_cast<WideVector<std::uint64_t>>(
          _mm256_cmp_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), _CMP_UNORD_Q));
  }
  WideVector<std::uint64_t> seen_{};
#endif
};

#else

template <bool kGreatest, class Vector>
Vector extremum_of_numbers(Vector a, Vector b);
template <class T>
class Nans;

#endif  // __AVX2__

}  // namespace kiln::cpu::KILN_ISA
