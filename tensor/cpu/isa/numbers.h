// Owns extrema of vectors of floats that are numbers: there is one instruction for each, which gives the
// second operand where neither is greater (or less), as `MaxOf` and `MinOf` do, but also where one is a nan.
// Included only by files that are compiled once per instruction set.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "tensor/cpu/isa/wide_load.h"

namespace kiln::cpu::KILN_ISA {

// The instructions for elements of type T, where there are such and registers enough for all lanes.
// `unordered` tells where either operand is a nan.
template <class T>
struct NumberInstructions {};

#if defined(__AVX512F__)

inline bool is_any(unsigned nans) { return nans != 0; }

// With a mask of all lanes: without one, GCC 12 takes the operand for masked lanes for uninitialized.
template <>
struct NumberInstructions<float> {
  using Register = __m512;
  using Nans = __mmask16;
  static Register greater(Register a, Register b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Register less(Register a, Register b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Nans unordered(Register a, Register b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
};
template <>
struct NumberInstructions<double> {
  using Register = __m512d;
  using Nans = __mmask8;
  static Register greater(Register a, Register b) { return _mm512_maskz_max_pd(0xff, a, b); }
  static Register less(Register a, Register b) { return _mm512_maskz_min_pd(0xff, a, b); }
  static Nans unordered(Register a, Register b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
};

#elif defined(__AVX2__)

inline bool is_any(__m256i nans) { return _mm256_movemask_epi8(nans) != 0; }

template <>
struct NumberInstructions<float> {
  using Register = __m256;
  using Nans = __m256i;
  static Register greater(Register a, Register b) { return _mm256_max_ps(a, b); }
  static Register less(Register a, Register b) { return _mm256_min_ps(a, b); }
  static Nans unordered(Register a, Register b) {
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q));
  }
};
template <>
struct NumberInstructions<double> {
  using Register = __m256d;
  using Nans = __m256i;
  static Register greater(Register a, Register b) { return _mm256_max_pd(a, b); }
  static Register less(Register a, Register b) { return _mm256_min_pd(a, b); }
  static Nans unordered(Register a, Register b) {
    return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_UNORD_Q));
  }
};

#endif

template <class T>
inline constexpr bool kHasNumbers = requires { typename NumberInstructions<T>::Register; };

template <bool kGreatest, class T>
[[gnu::always_inline]] inline WideVector<T> extremum_of_numbers(WideVector<T> a, WideVector<T> b) {
  using Instructions = NumberInstructions<T>;
  using Register = typename Instructions::Register;
  const auto x = reinterpret_cast<Register>(a), y = reinterpret_cast<Register>(b);
  return reinterpret_cast<WideVector<T>>(kGreatest ? Instructions::greater(x, y) : Instructions::less(x, y));
}

// Whether any of the vectors that were looked at holds a nan.
template <class T>
class Nans {
 public:
  // Two at a time: an instruction tells whether either of its operands is one.
  [[gnu::always_inline]] void look(WideVector<T> a, WideVector<T> b) {
    using Register = typename Instructions::Register;
    seen_ |= Instructions::unordered(reinterpret_cast<Register>(a), reinterpret_cast<Register>(b));
  }
  bool any() const { return is_any(seen_); }

 private:
  using Instructions = NumberInstructions<T>;
  typename Instructions::Nans seen_{};
};

}  // namespace kiln::cpu::KILN_ISA
