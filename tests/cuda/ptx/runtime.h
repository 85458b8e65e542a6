// Owns what instructions of PTX compute, for the C++ that translate.py makes of them. Source: NVIDIA's
// "Parallel Thread Execution ISA".
#pragma once

using u8 = unsigned char;
using s8 = signed char;
using u16 = unsigned short;
using s16 = short;
using u32 = unsigned int;
using s32 = int;
using u64 = unsigned long long;
using s64 = long long;
using f32 = float;
using f64 = double;

template <class T>
inline constexpr bool kIsFloating = false;
template <>
inline constexpr bool kIsFloating<f32> = true;
template <>
inline constexpr bool kIsFloating<f64> = true;

// The low bits of a register as a value, and a value's bits as those of a register: integers are extended to
// its width.
template <class T, class Register>
T as(Register bits) {
  static_assert(sizeof(T) <= sizeof(Register));
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class Register, class T>
void set(Register& bits, T value) {
  if constexpr (kIsFloating<T>) {
    static_assert(sizeof(T) == sizeof(Register));
    __builtin_memcpy(&bits, &value, sizeof value);
  } else {
    static_assert(sizeof(T) <= sizeof(Register));
    bits = static_cast<Register>(value);
  }
}
// A card refuses addresses that are no multiples of what is moved. An instruction that the host's processor
// refuses in the same way tells the fake driver.
inline void require_aligned(u64 address, u64 bytes) {
  if (address % bytes != 0) {
    asm volatile("vmovaps (%0), %%xmm0" : : "r"(address | 1) : "xmm0", "memory");
  }
}
template <class T>
T load(u64 address) {
  require_aligned(address, sizeof(T));
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
template <class T>
void store(u64 address, T value) {
  require_aligned(address, sizeof(T));
  __builtin_memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}
// Accesses that other threads, or the host, may see or answer: each of them is made.
template <class T>
T volatile_load(u64 address) {
  return *reinterpret_cast<const volatile T*>(address);
}
template <class T>
void volatile_store(u64 address, T value) {
  *reinterpret_cast<volatile T*>(address) = value;
}

template <class T>
bool ordered(T a, T b) {
  return a == a && b == b;
}
inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
inline f32 root(f32 x) { return __builtin_sqrtf(x); }
inline f64 root(f64 x) { return __builtin_sqrt(x); }
template <class T>
T negative(T x) {
  return -x;
}
template <class T>
T absolute(T x) {
  if constexpr (kIsFloating<T>) return static_cast<T>(__builtin_fabs(x));
  return x < 0 ? -x : x;
}
inline f32 copy_sign(f32 magnitude, f32 sign) { return __builtin_copysignf(magnitude, sign); }
inline f64 copy_sign(f64 magnitude, f64 sign) { return __builtin_copysign(magnitude, sign); }
// Of a nan and a number, the number; -0 is less than 0.
template <class T>
T smaller(T a, T b) {
  if (!(a == a)) return b;
  if (!(b == b)) return a;
  if constexpr (kIsFloating<T>)
    if (a == b) return __builtin_signbit(a) ? a : b;
  return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
  if (!(a == a)) return b;
  if (!(b == b)) return a;
  if constexpr (kIsFloating<T>)
    if (a == b) return __builtin_signbit(a) ? b : a;
  return b > a ? b : a;
}

// Distances are clamped to the width.
template <class T>
T shift_left(T x, u32 distance) {
  return distance >= 8 * sizeof(T) ? T(0) : static_cast<T>(x << distance);
}
template <class T>
T shift_right(T x, u32 distance) {
  return distance >= 8 * sizeof(T) ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> distance);
}
inline u32 funnel_l(u32 low, u32 high, u32 distance, u32 wrap) {
  distance = wrap != 0 ? distance & 31U : distance > 32 ? 32 : distance;
  return static_cast<u32>((((static_cast<u64>(high) << 32) | low) << distance) >> 32);
}
inline u32 funnel_r(u32 low, u32 high, u32 distance, u32 wrap) {
  distance = wrap != 0 ? distance & 31U : distance > 32 ? 32 : distance;
  return static_cast<u32>(((static_cast<u64>(high) << 32) | low) >> distance);
}
inline u32 permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = (static_cast<u64>(b) << 32) | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 pick = selector >> (4 * i);
    const u32 byte = static_cast<u32>(bytes >> (8 * (pick & 7U))) & 0xffU;
    const u32 sign = (byte & 0x80U) != 0 ? 0xffU : 0U;
    result |= ((pick & 8U) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}
template <class A, class B>
u32 dot_product(u32 a, u32 b, u32 sum) {
  for (u32 i = 0; i < 32; i += 8)
    sum += static_cast<u32>(static_cast<A>(a >> i)) * static_cast<u32>(static_cast<B>(b >> i));
  return sum;
}
// As many bits of `x` from `first` on as `count` says; signed numbers go on with the last of them.
template <class T>
T extracted(T x, u32 first, u32 count) {
  constexpr u32 kLast = 8 * sizeof(T) - 1;
  first &= 0xffU;
  count &= 0xffU;
  const auto bit = [&](u32 i) { return ((x >> (i < kLast ? i : kLast)) & 1) != 0; };
  const bool is_filled = T(-1) < T(0) && count != 0 && bit(first + count - 1);
  T result = 0;
  for (u32 i = 0; i <= kLast; ++i) {
    if (i < count && first + i <= kLast ? bit(first + i) : is_filled) result |= static_cast<T>(T(1) << i);
  }
  return result;
}
// `whole` with the low bits of `part` in the place of those from `first` on.
template <class T>
T inserted(T part, T whole, u32 first, u32 count) {
  first &= 0xffU;
  count &= 0xffU;
  const T mask = shift_left(static_cast<T>(~shift_left(static_cast<T>(~T(0)), count)), first);
  return static_cast<T>((whole & ~mask) | (shift_left(part, first) & mask));
}
template <class T>
T reversed(T x) {
  T result = 0;
  for (u32 i = 0; i < 8 * sizeof(T); ++i) result = static_cast<T>(result << 1 | (x >> i & 1));
  return result;
}
inline u32 leading_zeros(u32 x) { return x == 0 ? 32U : static_cast<u32>(__builtin_clz(x)); }
inline u32 leading_zeros(u64 x) { return x == 0 ? 64U : static_cast<u32>(__builtin_clzll(x)); }
template <class T>
u32 highest_bit(T x, bool is_distance_to_top) {
  if (x == 0) return ~0U;
  return is_distance_to_top ? leading_zeros(x) : 8 * sizeof(T) - 1 - leading_zeros(x);
}
inline u32 set_bits(u32 x) { return static_cast<u32>(__builtin_popcount(x)); }
inline u32 set_bits(u64 x) { return static_cast<u32>(__builtin_popcountll(x)); }

template <int kBytes, bool kSigned>
struct Wide;
template <>
struct Wide<2, false> {
  using type = u32;
};
template <>
struct Wide<2, true> {
  using type = s32;
};
template <>
struct Wide<4, false> {
  using type = u64;
};
template <>
struct Wide<4, true> {
  using type = s64;
};
template <>
struct Wide<8, false> {
  using type = unsigned __int128;
};
template <>
struct Wide<8, true> {
  using type = __int128;
};
template <class T>
using WideOf = typename Wide<sizeof(T), (T(-1) < T(0))>::type;
template <class T>
WideOf<T> wide_product(T a, T b) {
  return static_cast<WideOf<T>>(a) * static_cast<WideOf<T>>(b);
}
template <class T>
T high_product(T a, T b) {
  return static_cast<T>(wide_product(a, b) >> (8 * sizeof(T)));
}
// PTX leaves division by zero open: the bits here are those that no result should depend on.
template <class T>
T integer_div(T a, T b) {
  if (b == 0) return static_cast<T>(0x5555555555555555ULL);
  if constexpr (T(-1) < T(0))
    if (b == -1) return static_cast<T>(-static_cast<WideOf<T>>(a));
  return static_cast<T>(a / b);
}
template <class T>
T integer_rem(T a, T b) {
  if (b == 0) return static_cast<T>(0x2aaaaaaaaaaaaaaaULL);
  if constexpr (T(-1) < T(0))
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

// To the nearest even, toward zero, down or up.
template <class F>
F to_whole(F x, char mode) {
  return static_cast<F>(mode == 'n'   ? __builtin_nearbyint(x)
                        : mode == 'z' ? __builtin_trunc(x)
                        : mode == 'm' ? __builtin_floor(x)
                                      : __builtin_ceil(x));
}
// Those out of range become the nearest integer that there is; nan is 0, of 64 bits the sign bit alone.
template <class I, class F>
I to_integer(F x, char mode) {
  constexpr bool kSigned = I(-1) < I(0);
  constexpr int kBits = 8 * sizeof(I);
  constexpr I kLeast = kSigned ? static_cast<I>(u64{1} << (kBits - 1)) : I(0);
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(u64{1} << 63) : I(0);
  x = to_whole(x, mode);
  constexpr F end = F(2) * static_cast<F>(u64{1} << ((kSigned ? kBits - 1 : kBits) - 1));
  if (x >= end) return static_cast<I>(~kLeast);
  if (x < (kSigned ? -end : F(0))) return kLeast;
  return static_cast<I>(x);
}
