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
  cpu::prefetch_run(block + 2 * kBlock<S>, n);
}

// Functions of many steps, between which the processor does not see the next loads by itself. Short ones it
// keeps up with; requests would only be in its way.
template <class Op>
constexpr bool kIsLong = (Op::kTypes == scalar::TypeSet::Floats || Op::kHasRange) && !Op::kFewSteps;

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

// A block is read once: what its guard has looked at is computed from a copy, which nobody else writes, so
// that the steps of several vectors may be mixed. Where these are few, four vectors are enough to keep the
// processor busy, and their copy stays in registers: stores to memory would queue behind those of results,
// which wait for their lines.
template <class Op, class S>
constexpr std::int64_t kGuarded =
    Op::kBriefInRange ? 4 * kVectorBytes / static_cast<std::int64_t>(sizeof(S)) : kBlock<S> / 2;
template <class Op, class S>
[[gnu::always_inline]] inline unsigned guarded_block(const S* x, Raw<StoredOf<Op, S>>* out,
                                                     std::int64_t count, const Params& params) {
  using R = StoredOf<Op, S>;
  const Params p = known<S>(params);
  alignas(64) S copy[kGuarded<Op, S>];
  prefetch_ahead(x, count);
  Flag<S> outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    copy[i] = x[i];
    outside |= static_cast<Flag<S>>(Op::in_range(x[i], p) ? 0 : 1);
  }
  return outside == 0 ? unary_loop<true, Op, S, R>(copy, out, count, params)
                      : unary_loop<false, Op, S, R>(copy, out, count, params);
}

template <class Op, class S>
[[gnu::always_inline]] inline unsigned unary_row(const void* const* in, void* result, std::int64_t n,
                                                 const Params& params) {
  using T = ArithmeticOf<S>;
  using R = StoredOf<Op, S>;
  unsigned unused = 0;
  static_assert(kGivesRightType<Op, T, decltype(Op::apply(T(), params, unused))>);
  const auto* x = static_cast<const Raw<S>*>(in[0]);
  auto* out = static_cast<Raw<R>*>(result);
  if constexpr (!math::kIsFloating<S> || !kIsLong<Op>) {
    static_assert(!Op::kHasRange);
    return unary_loop<true, Op, S, R>(x, out, n, params);
  } else if constexpr (Op::kHasRange) {
    unsigned bad = 0;
    std::int64_t begin = 0;
    for (; begin + kGuarded<Op, S> <= n; begin += kGuarded<Op, S>)  // of a length that is known
      bad |= guarded_block<Op, S>(x + begin, out + begin, kGuarded<Op, S>, params);
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

// An operand in a loop: one element after the other, or one for all of it, which is read before the loop.
template <class S, bool kIsMask, bool kIsValue>
class Source {
 public:
  using Raw = OperandRaw<S, kIsMask>;
  using Element = decltype(operand<S, kIsMask>(Raw()));

  [[gnu::always_inline]] explicit Source(const void* from) : from_(static_cast<const Raw*>(from)) {
    if constexpr (kIsValue) value_ = operand<S, kIsMask>(*from_);
  }
  [[gnu::always_inline]] Element operator[](std::int64_t i) const {
    if constexpr (kIsValue) return value_;
    return operand<S, kIsMask>(from_[i]);
  }
  // From an element on.
  [[gnu::always_inline]] Source after(std::int64_t begin) const {
    Source source = *this;
    if constexpr (!kIsValue) source.from_ += begin;
    return source;
  }
  [[gnu::always_inline]] void prefetch(std::int64_t n) const {
    if constexpr (!kIsValue) prefetch_ahead(from_, n);
  }

 private:
  const Raw* from_;
  Element value_{};
};

template <bool kInRange, class Op, class S, class R, class A, class B>
unsigned binary_loop(A a, B b, Raw<R>* out, std::int64_t n, const Params& params) {
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) out[i] = stored<R>(Op::template apply<kInRange>(a[i], b[i], p, bad));
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

// Powers of a simple exponent, and of exponents that are all the same simple one. Otherwise false.
template <class T, class A>
bool simple_power(A x, T exponent, T* out, std::int64_t n) {
  return with_simple_power(exponent, [&](auto power) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = power(x[i]);
  });
}
template <class T, class A, class B>
bool uniform_power(A x, B exponents, T* out, std::int64_t n) {
  const T exponent = exponents[0];
  if (!math::is_simple_exponent(exponent)) return false;
  Flag<T> differs = 0;
  for (std::int64_t i = 0; i < n; ++i) differs |= static_cast<Flag<T>>(exponents[i] != exponent ? 1 : 0);
  return differs == 0 && simple_power(x, exponent, out, n);
}

// `kValues` has the bits of the operands that are one value.
template <class Op, class S, unsigned kValues>
[[gnu::always_inline]] inline unsigned binary_row(const void* const* in, void* result, std::int64_t n,
                                                  const Params& params) {
  using T = ArithmeticOf<S>;
  using R = StoredOf<Op, S>;
  unsigned unused = 0;
  static_assert(kGivesRightType<Op, T, decltype(Op::apply(T(), T(), params, unused))>);
  constexpr bool kValueA = (kValues & 1U) != 0, kValueB = (kValues & 2U) != 0;
  const Source<S, false, kValueA> first(in[0]);
  const Source<S, false, kValueB> second(in[1]);
  auto* out = static_cast<Raw<R>*>(result);
  if constexpr (Op::kHasRange) {
    constexpr bool kIsPower = std::is_same_v<Op, scalar::pow> && math::kIsFloating<S>;
    if constexpr (kIsPower && kValueB) {
      if (simple_power(first, second[0], out, n)) return 0;
    }
    const Params p = known<S>(params);
    // Steps that are few take less time than memory does: of those, parts so short that what the guard has
    // looked at is still in registers, and no requests.
    constexpr std::int64_t kPart = Op::kBriefInRange ? kGuarded<Op, S> : kBlock<S>;
    const auto part = [&](std::int64_t begin, std::int64_t count) __attribute__((always_inline)) {
      const auto a = first.after(begin);
      const auto b = second.after(begin);
      if constexpr (!Op::kBriefInRange) {
        a.prefetch(count);
        b.prefetch(count);
      }
      if constexpr (kIsPower && !kValueB) {
        if (uniform_power(a, b, out + begin, count)) return 0U;
      }
      Flag<S> outside = 0;
      for (std::int64_t i = 0; i < count; ++i)
        outside |= static_cast<Flag<S>>(Op::in_range(a[i], b[i], p) ? 0 : 1);
      return outside == 0 ? binary_loop<true, Op, S, R>(a, b, out + begin, count, params)
                          : binary_loop<false, Op, S, R>(a, b, out + begin, count, params);
    };
    unsigned bad = 0;
    std::int64_t begin = 0;
    for (; begin + kPart <= n; begin += kPart) bad |= part(begin, kPart);  // of a length that is known
    return begin < n ? bad | part(begin, n - begin) : bad;
  } else {
    return binary_loop<true, Op, S, R>(first, second, out, n, params);
  }
}

template <class Op, class S, unsigned kValues>
[[gnu::always_inline]] inline unsigned ternary_row(const void* const* in, void* result, std::int64_t n,
                                                   const Params& params) {
  const Source<S, Op::kMask == 0, (kValues & 1U) != 0> a(in[0]);
  const Source<S, Op::kMask == 1, (kValues & 2U) != 0> b(in[1]);
  const Source<S, Op::kMask == 2, (kValues & 4U) != 0> c(in[2]);
  auto* out = static_cast<Raw<S>*>(result);
  const Params p = known<S>(params);
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) out[i] = stored<S>(Op::apply(a[i], b[i], c[i], p, bad));
  return bad;
}

template <class Op, int kCount, class S, unsigned kValues>
struct Row {
  static constexpr int kOperands = kCount;
  [[gnu::always_inline]] static unsigned run(const void* const* in, void* out, std::int64_t n,
                                             const Params& params) {
    if constexpr (kCount == 1) return unary_row<Op, S>(in, out, n, params);
    if constexpr (kCount == 2) return binary_row<Op, S, kValues>(in, out, n, params);
    if constexpr (kCount == 3) return ternary_row<Op, S, kValues>(in, out, n, params);
  }
};

// What `Row` does, for each of `rows`, since a call costs more than a short row; null: once. What a single
// row needs is not handed over in memory, where the processor would wait for it.
template <class Row>
[[gnu::noinline]] unsigned run_rows(const void* a, const void* b, const void* c, void* result, std::int64_t n,
                                    const OperandRows* rows, const Params& params) {
  const void* in[kMostOperands] = {a, b, c};
  auto* out = static_cast<std::byte*>(result);
  unsigned bad = 0;
  for (std::int64_t left = rows == nullptr ? 1 : rows->count;;) {
    bad |= Row::run(in, out, n, params);
    if (--left <= 0) return bad;
    for (int i = 0; i < kMostOperands; ++i) in[i] = static_cast<const std::byte*>(in[i]) + rows->step[i];
    out += rows->out_step;
  }
}
template <class Row>
unsigned block_kernel(const void* const* in, void* out, std::int64_t n, const Params& params) {
  const auto operand = [in](int i) { return i < Row::kOperands ? in[i] : nullptr; };
  return run_rows<Row>(operand(0), operand(1), operand(2), out, n, nullptr, params);
}
template <class Row>
unsigned rows_kernel(const OperandRows& rows, const Params& params) {
  return run_rows<Row>(rows.in[0], rows.in[1], rows.in[2], rows.out, rows.n, &rows, params);
}

template <class S>
constexpr DType kDTypeOf = [] {
  if constexpr (std::is_same_v<S, bool>) return DType::Bool;
  if constexpr (std::is_same_v<S, std::uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<S, std::int8_t>) return DType::I8;
  if constexpr (std::is_same_v<S, std::int16_t>) return DType::I16;
  if constexpr (std::is_same_v<S, math::Int32>) return DType::I32;
  if constexpr (std::is_same_v<S, math::Int64>) return DType::I64;
  if constexpr (std::is_same_v<S, float>) return DType::F32;
  if constexpr (std::is_same_v<S, double>) return DType::F64;
}();
template <class Op, int kOperands, class S, unsigned kValues>
void add_kernels(OpKernels& kernels) {
  constexpr int kDType = static_cast<int>(kDTypeOf<S>);
  if constexpr (kValues == 0) kernels.block[kDType] = &block_kernel<Row<Op, kOperands, S, 0>>;
  kernels.rows[kDType][kValues] = &rows_kernel<Row<Op, kOperands, S, kValues>>;
}

template <class Op, class... S>
void add_unary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) add_kernels<Op, 1, E, 0>(table.rows[row]);
  };
  (add(S()), ...);
}
// Few masks meet one truth value.
template <class S>
constexpr bool kTakesValues = !std::is_same_v<S, bool>;
template <class Op, class... S>
void add_binary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) {
      OpKernels& kernels = table.rows[row];
      add_kernels<Op, 2, E, 0>(kernels);
      if constexpr (kTakesValues<E>) {
        add_kernels<Op, 2, E, 1>(kernels);
        add_kernels<Op, 2, E, 2>(kernels);
      }
    }
  };
  (add(S()), ...);
}
// Bounds, weights and what is chosen are values more often than what an op is called on.
template <class Op, class... S>
void add_ternary(KernelTable& table, int row) {
  const auto add = [&]<class E>(E) {
    if constexpr (scalar::allowed<ArithmeticOf<E>>(Op::kTypes)) {
      OpKernels& kernels = table.rows[row];
      add_kernels<Op, 3, E, 0>(kernels);
      if constexpr (kTakesValues<E>) add_kernels<Op, 3, E, 4>(kernels);
      if constexpr (kTakesValues<E> && Op::kMask != 1) {
        add_kernels<Op, 3, E, 2>(kernels);
        add_kernels<Op, 3, E, 6>(kernels);
      }
    }
  };
  (add(S()), ...);
}

}  // namespace
}  // namespace kiln::cpu::KILN_ISA
