// Owns the loops around the scalar functions of elementwise rows. Included only by files compiled once per
// instruction set; all it defines has internal linkage.
#pragma once

#include <type_traits>

#include "tensor/cpu/isa/wide_load.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/ops/scalar.h"

#if defined(__clang__)
#define KILN_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define KILN_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace kiln::cpu::KILN_ISA {

// Each part of the table is filled by its own file.
void add_unary_f32(KernelTable& table);
void add_unary_f64(KernelTable& table);
void add_unary_int(KernelTable& table);
void add_unary_narrow(KernelTable& table);
void add_unary_half(KernelTable& table);
void add_binary_f32(KernelTable& table);
void add_binary_f64(KernelTable& table);
void add_binary_int(KernelTable& table);
void add_binary_narrow(KernelTable& table);
void add_binary_half(KernelTable& table);
void add_ternary(KernelTable& table);
void add_ternary_half(KernelTable& table);

namespace {

// Loops go block by block. One is short enough to stay in the first cache between the check of its guard and
// the loop, and while it is computed the one after the next is on its way: functions that take as long as
// memory does would else wait for it in between.
template <class S>
constexpr std::int64_t kBlock = sizeof(S) < 4 ? 1024 : 256;
template <class S>
void prefetch_ahead(const S* block, std::int64_t n) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(S));
  for (std::int64_t i = 0; i < n; i += kLine) cpu::prefetch(block + 2 * kBlock<S> + i);
}

// What elements of a type are computed in.
template <class S>
using ArithmeticOf = std::conditional_t<sizeof(S) <= 2, math::Int32, S>;

// What a body gives: a bool, or the type of the arithmetic; anything else would be stored at the wrong width.
template <class Op, class T, class R>
constexpr bool kGivesRightType = std::is_same_v<R, std::conditional_t<Op::kPredicate, bool, T>>;

// A copy whose address nobody has: it stays in registers. What the dtype says, the compiler knows.
template <class S>
KILN_MATH Params known(Params params) {
  if constexpr (sizeof(S) <= 2) params.bits = std::is_same_v<S, bool> ? 1 : static_cast<int>(sizeof(S)) * 8;
  return params;
}

// Whether some element of a block was outside; as wide as the elements, so that loops stay as narrow.
template <class S>
using Flag =
    std::conditional_t<sizeof(S) == 8, math::UInt64,
                       std::conditional_t<sizeof(S) == 4, math::UInt32,
                                          std::conditional_t<sizeof(S) == 2, std::uint16_t, std::uint8_t>>>;

// Bools are bytes in loops: GCC makes no vector code of choices between bools.
template <class S>
using Raw = std::conditional_t<std::is_same_v<S, bool>, unsigned char, S>;
template <class S>
KILN_MATH ArithmeticOf<S> loaded(Raw<S> x) {
  if constexpr (std::is_same_v<S, bool>) {
    return x & 1;  // which it is: that tells the compiler how few bits are enough
  } else {
    return x;
  }
}
// Narrow integers wrap, all but 0 is true; the compiler computes at their own width where no value can tell.
template <class Op, class S>
using StoredOf = std::conditional_t<Op::kPredicate, bool, S>;
template <class R, class T>
KILN_MATH Raw<R> stored(T x) {
  if constexpr (std::is_same_v<R, bool>) {
    return x != T(0) ? 1 : 0;
  } else {
    return static_cast<R>(x);
  }
}

template <bool kInRange, class Op, class S, class R>
[[gnu::always_inline]] inline unsigned unary_loop(const Raw<S>* x, Raw<R>* out, std::int64_t n,
                                                  const Params& params) {
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = stored<R>(Op::template apply<kInRange>(loaded<S>(x[i]), p, bad));
  return bad;
}

// Steps of as many vectors are mixed as there are registers for: those of more would go through memory.
template <class S>
constexpr std::int64_t kMixed =
    (kVectorBytes == 64 ? 8 : 4) * kVectorBytes / static_cast<std::int64_t>(sizeof(S));
template <bool kInRange, class Op, class S, class R>
[[gnu::always_inline]] inline unsigned mixed_loop(const Raw<S>* x, Raw<R>* out, std::int64_t n,
                                                  const Params& params) {
  unsigned bad = 0;
  std::int64_t i = 0;
#pragma GCC unroll 1
  for (; i + kMixed<S> <= n; i += kMixed<S>)
    bad |= unary_loop<kInRange, Op, S, R>(x + i, out + i, kMixed<S>, params);
  return i < n ? bad | unary_loop<kInRange, Op, S, R>(x + i, out + i, n - i, params) : bad;
}

// A block is read once: what its guard has looked at is computed from a copy, which nobody else writes, so
// that the steps of several vectors may be mixed.
template <class S>
constexpr std::int64_t kGuarded = kBlock<S> / 2;
template <class Op, class S>
[[gnu::always_inline]] inline unsigned guarded_block(const S* x, Raw<StoredOf<Op, S>>* out,
                                                     std::int64_t count, const Params& params) {
  using R = StoredOf<Op, S>;
  const Params p = known<S>(params);
  alignas(64) S copy[kGuarded<S>];
  prefetch_ahead(x, count);
  Flag<S> outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    copy[i] = x[i];
    outside |= static_cast<Flag<S>>(Op::in_range(x[i], p) ? 0 : 1);
  }
  return outside == 0 ? mixed_loop<true, Op, S, R>(copy, out, count, params)
                      : mixed_loop<false, Op, S, R>(copy, out, count, params);
}

template <class Op, class S>
unsigned unary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  using T = ArithmeticOf<S>;
  using R = StoredOf<Op, S>;
  unsigned unused = 0;
  static_assert(kGivesRightType<Op, T, decltype(Op::apply(T(), params, unused))>);
  const auto* x = static_cast<const Raw<S>*>(in[0]);
  auto* out = static_cast<Raw<R>*>(result);
  if constexpr (!math::kIsFloating<S>) {
    static_assert(!Op::kHasRange);
    return unary_loop<true, Op, S, R>(x, out, n, params);
  } else if constexpr (Op::kHasRange) {
    unsigned bad = 0;
    std::int64_t begin = 0;
    for (; begin + kGuarded<S> <= n; begin += kGuarded<S>)  // of a length that is known
      bad |= guarded_block<Op, S>(x + begin, out + begin, kGuarded<S>, params);
    return begin < n ? bad | guarded_block<Op, S>(x + begin, out + begin, n - begin, params) : bad;
  } else {
    unsigned bad = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock<S>) {
      const std::int64_t count = n - begin < kBlock<S> ? n - begin : kBlock<S>;
      prefetch_ahead(x + begin, count);
      bad |= unary_loop<true, Op, S, R>(x + begin, out + begin, count, params);
    }
    return bad;
  }
}

template <bool kInRange, class Op, class S, class R>
unsigned binary_loop(const Raw<S>* a, const Raw<S>* b, Raw<R>* out, std::int64_t n, const Params& params) {
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = stored<R>(Op::template apply<kInRange>(loaded<S>(a[i]), loaded<S>(b[i]), p, bad));
  return bad;
}

// Calls f with the power of a simple exponent, to be applied in a loop as short as it can be. Otherwise
// false.
template <class T, class F>
bool with_simple_power(T exponent, const F& f) {
  if (exponent == T(2)) {
    f([](T x) { return x * x; });
  } else if (exponent == T(3)) {
    f([](T x) { return math::cube(x); });
  } else if (exponent == T(0.5)) {
    f([](T x) { return math::root(x); });
  } else {
    return false;
  }
  return true;
}

// Powers of one simple exponent, what a number gives. Otherwise false.
template <class T>
bool uniform_power(const T* x, const T* exponents, T* out, std::int64_t n) {
  const T exponent = exponents[0];
  if (!math::is_simple_exponent(exponent)) return false;
  Flag<T> differs = 0;
  for (std::int64_t i = 0; i < n; ++i) differs |= static_cast<Flag<T>>(exponents[i] != exponent ? 1 : 0);
  return differs == 0 && with_simple_power(exponent, [&](auto power) {
           for (std::int64_t i = 0; i < n; ++i) out[i] = power(x[i]);
         });
}

template <class Op, class S>
unsigned binary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  using T = ArithmeticOf<S>;
  using R = StoredOf<Op, S>;
  unsigned unused = 0;
  static_assert(kGivesRightType<Op, T, decltype(Op::apply(T(), T(), params, unused))>);
  const auto* a = static_cast<const Raw<S>*>(in[0]);
  const auto* b = static_cast<const Raw<S>*>(in[1]);
  auto* out = static_cast<Raw<R>*>(result);
  if constexpr (Op::kHasRange) {
    const Params p = known<S>(params);
    unsigned bad = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock<S>) {
      const std::int64_t count = n - begin < kBlock<S> ? n - begin : kBlock<S>;
      prefetch_ahead(a + begin, count);
      prefetch_ahead(b + begin, count);
      if constexpr (std::is_same_v<Op, scalar::pow> && math::kIsFloating<S>) {
        if (uniform_power(a + begin, b + begin, out + begin, count)) continue;
      }
      Flag<S> outside = 0;
      for (std::int64_t i = begin; i < begin + count; ++i)
        outside |= static_cast<Flag<S>>(Op::in_range(loaded<S>(a[i]), loaded<S>(b[i]), p) ? 0 : 1);
      bad |= outside == 0 ? binary_loop<true, Op, S, R>(a + begin, b + begin, out + begin, count, params)
                          : binary_loop<false, Op, S, R>(a + begin, b + begin, out + begin, count, params);
    }
    return bad;
  } else if constexpr (Op::kPredicate && sizeof(S) == 8) {
    // A vector of results takes eight of each operand, read in an order that the processor cannot guess.
    unsigned bad = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock<S>) {
      const std::int64_t count = n - begin < kBlock<S> ? n - begin : kBlock<S>;
      prefetch_ahead(a + begin, count);
      prefetch_ahead(b + begin, count);
      bad |= binary_loop<true, Op, S, R>(a + begin, b + begin, out + begin, count, params);
    }
    return bad;
  } else {
    return binary_loop<true, Op, S, R>(a, b, out, n, params);
  }
}

// Operand kValue is one element.
template <class Op, class S, int kValue>
unsigned value_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  using R = StoredOf<Op, S>;
  const auto value = loaded<S>(*static_cast<const Raw<S>*>(in[kValue]));
  const auto* x = static_cast<const Raw<S>*>(in[1 - kValue]);
  auto* out = static_cast<Raw<R>*>(result);
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    const auto other = loaded<S>(x[i]);
    out[i] = stored<R>(kValue == 0 ? Op::apply(value, other, p, bad) : Op::apply(other, value, p, bad));
  }
  return bad;
}

// A mask is a byte; it is not of the arithmetic.
template <class S, bool kIsMask>
using OperandRaw = std::conditional_t<kIsMask, unsigned char, Raw<S>>;
template <class S, bool kIsMask>
KILN_MATH auto operand(OperandRaw<S, kIsMask> x) {
  if constexpr (kIsMask) {
    return x;
  } else {
    return loaded<S>(x);
  }
}

template <class Op, class S>
unsigned ternary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  constexpr bool kMaskA = Op::kMask == 0, kMaskB = Op::kMask == 1, kMaskC = Op::kMask == 2;
  const auto* a = static_cast<const OperandRaw<S, kMaskA>*>(in[0]);
  const auto* b = static_cast<const OperandRaw<S, kMaskB>*>(in[1]);
  const auto* c = static_cast<const OperandRaw<S, kMaskC>*>(in[2]);
  auto* out = static_cast<Raw<S>*>(result);
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = stored<S>(
        Op::apply(operand<S, kMaskA>(a[i]), operand<S, kMaskB>(b[i]), operand<S, kMaskC>(c[i]), p, bad));
  return bad;
}

// Where the kernel for elements of type S stands among those of its row.
template <class S>
BlockKernel& place(KernelTable& table, int row) {
  BlockKernel* const kernels = table.kernels[row];
  BlockKernel* const narrow = table.narrow[row];
  if constexpr (std::is_same_v<S, float>) return kernels[static_cast<int>(Compute::F32)];
  if constexpr (std::is_same_v<S, double>) return kernels[static_cast<int>(Compute::F64)];
  if constexpr (std::is_same_v<S, math::Int32>) return kernels[static_cast<int>(Compute::I32)];
  if constexpr (std::is_same_v<S, math::Int64>) return kernels[static_cast<int>(Compute::I64)];
  if constexpr (std::is_same_v<S, bool>) return narrow[static_cast<int>(DType::Bool)];
  if constexpr (std::is_same_v<S, std::uint8_t>) return narrow[static_cast<int>(DType::U8)];
  if constexpr (std::is_same_v<S, std::int8_t>) return narrow[static_cast<int>(DType::I8)];
  if constexpr (std::is_same_v<S, std::int16_t>) return narrow[static_cast<int>(DType::I16)];
}

template <class Op, class... S>
void add_unary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) place<E>(table, row) = &unary_kernel<Op, E>;
  };
  (add(S()), ...);
}
template <class Op, class... S>
void add_binary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) place<E>(table, row) = &binary_kernel<Op, E>;
  };
  (add(S()), ...);
}
template <class Op, class S>
void add_by_value(KernelTable& table, int row) {
  if constexpr (scalar::allowed<ArithmeticOf<S>>(Op::kTypes) && !Op::kHasRange) {
    table.by_value[row][0] = &value_kernel<Op, S, 0>;
    table.by_value[row][1] = &value_kernel<Op, S, 1>;
  }
}
template <class Op, class... S>
void add_ternary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) place<E>(table, row) = &ternary_kernel<Op, E>;
  };
  (add(S()), ...);
}

}  // namespace
}  // namespace kiln::cpu::KILN_ISA
