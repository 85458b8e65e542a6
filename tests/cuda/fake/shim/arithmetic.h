// Owns arithmetic of CUDA C++ for the shim: what is exact or rounded once, so that results have the host's
// bits. Functions of CUDA's library that are neither, as expf, are left out.
#pragma once

// Rounded once, to nearest.
#define KILN_FAKE_SAME(T, letter, suffix)                                                 \
  static inline T fma##suffix(T a, T b, T c) { return __builtin_fma##suffix(a, b, c); }   \
  static inline T sqrt##suffix(T x) { return __builtin_sqrt##suffix(x); }                 \
  static inline T floor##suffix(T x) { return __builtin_floor##suffix(x); }               \
  static inline T ceil##suffix(T x) { return __builtin_ceil##suffix(x); }                 \
  static inline T trunc##suffix(T x) { return __builtin_trunc##suffix(x); }               \
  static inline T rint##suffix(T x) { return __builtin_rint##suffix(x); }                 \
  static inline T fabs##suffix(T x) { return __builtin_fabs##suffix(x); }                 \
  static inline T copysign##suffix(T x, T y) { return __builtin_copysign##suffix(x, y); } \
  static inline T fmin##suffix(T a, T b) { return __builtin_isnan(b) || a < b ? a : b; }  \
  static inline T fmax##suffix(T a, T b) { return __builtin_isnan(b) || a > b ? a : b; }  \
  static inline T __##letter##add_rn(T a, T b) { return a + b; }                          \
  static inline T __##letter##sub_rn(T a, T b) { return a - b; }                          \
  static inline T __##letter##mul_rn(T a, T b) { return a * b; }                          \
  static inline T __##letter##div_rn(T a, T b) { return a / b; }                          \
  static inline T __##letter##sqrt_rn(T x) { return __builtin_sqrt##suffix(x); }          \
  static inline T __##letter##rcp_rn(T x) { return 1 / x; }                               \
  static inline T __fma##suffix##_rn(T a, T b, T c) { return __builtin_fma##suffix(a, b, c); }
KILN_FAKE_SAME(float, f, f)
KILN_FAKE_SAME(double, d, )
#undef KILN_FAKE_SAME

#define KILN_FAKE_BITS(name, From, To) \
  static inline To name(From x) { return __builtin_bit_cast(To, x); }
KILN_FAKE_BITS(__float_as_uint, float, unsigned)
KILN_FAKE_BITS(__float_as_int, float, int)
KILN_FAKE_BITS(__uint_as_float, unsigned, float)
KILN_FAKE_BITS(__int_as_float, int, float)
KILN_FAKE_BITS(__double_as_longlong, double, long long)
KILN_FAKE_BITS(__longlong_as_double, long long, double)
#undef KILN_FAKE_BITS

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
static inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
static inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
static inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
static inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
// The high half of (high, low) shifted to the left, the low half shifted to the right.
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (by & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i);
    auto byte = static_cast<unsigned>(bytes >> (8 * (choice & 7))) & 0xffU;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

#define KILN_FAKE_ORDER(T)                                          \
  static inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  static inline constexpr T max(T a, T b) { return a < b ? b : a; }
KILN_FAKE_ORDER(int)
KILN_FAKE_ORDER(unsigned)
KILN_FAKE_ORDER(long long)
KILN_FAKE_ORDER(unsigned long long)
#undef KILN_FAKE_ORDER
static inline int abs(int x) { return x < 0 ? -x : x; }
