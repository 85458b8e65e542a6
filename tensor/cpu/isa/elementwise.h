// Owns the loops around the scalar functions of elementwise rows. Included only by files compiled once per
// instruction set; all it defines has internal linkage.
#pragma once

#include <type_traits>

#include "tensor/cpu/kernels.h"
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
void add_binary_f32(KernelTable& table);
void add_binary_f64(KernelTable& table);
void add_binary_int(KernelTable& table);
void add_ternary(KernelTable& table);

namespace {

// A block short enough to stay in the first cache between the check of its guard and the loop.
constexpr std::int64_t kGuardBlock = 512;

// What a body gives: a bool, or the type of the arithmetic; anything else would be stored at the wrong width.
template <class Op, class T, class R>
constexpr bool kGivesRightType = std::is_same_v<R, std::conditional_t<Op::kPredicate, bool, T>>;

template <bool kInRange, class Op, class T, class R>
unsigned unary_loop(const T* x, R* out, std::int64_t n, const Params& params) {
  const Params p = params;  // a copy whose address nobody has: it stays in registers
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op::template apply<kInRange>(x[i], p, bad);
  return bad;
}

template <class Op, class T>
unsigned unary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  unsigned unused = 0;
  using R = decltype(Op::apply(T(), params, unused));
  static_assert(kGivesRightType<Op, T, R>);
  const T* x = static_cast<const T*>(in[0]);
  R* out = static_cast<R*>(result);
  if constexpr (Op::kGuarded) {
    unsigned bad = 0;
    for (std::int64_t begin = 0; begin < n; begin += kGuardBlock) {
      const std::int64_t count = n - begin < kGuardBlock ? n - begin : kGuardBlock;
      unsigned outside = 0;
      for (std::int64_t i = begin; i < begin + count; ++i) outside |= Op::in_range(x[i], params) ? 0U : 1U;
      bad |= outside == 0 ? unary_loop<true, Op>(x + begin, out + begin, count, params)
                          : unary_loop<false, Op>(x + begin, out + begin, count, params);
    }
    return bad;
  } else {
    return unary_loop<true, Op>(x, out, n, params);
  }
}

template <bool kInRange, class Op, class T, class R>
unsigned binary_loop(const T* a, const T* b, R* out, std::int64_t n, const Params& params) {
  const Params p = params;
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op::template apply<kInRange>(a[i], b[i], p, bad);
  return bad;
}

template <class Op, class T>
unsigned binary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  unsigned unused = 0;
  using R = decltype(Op::apply(T(), T(), params, unused));
  static_assert(kGivesRightType<Op, T, R>);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* out = static_cast<R*>(result);
  if constexpr (Op::kGuarded && math::kIsFloating<T>) {
    unsigned bad = 0;
    for (std::int64_t begin = 0; begin < n; begin += kGuardBlock) {
      const std::int64_t count = n - begin < kGuardBlock ? n - begin : kGuardBlock;
      unsigned outside = 0;
      for (std::int64_t i = begin; i < begin + count; ++i)
        outside |= Op::in_range(a[i], b[i], params) ? 0U : 1U;
      bad |= outside == 0 ? binary_loop<true, Op>(a + begin, b + begin, out + begin, count, params)
                          : binary_loop<false, Op>(a + begin, b + begin, out + begin, count, params);
    }
    return bad;
  } else {
    return binary_loop<true, Op>(a, b, out, n, params);
  }
}

template <class T, bool kIsMask>
struct OperandOf {
  using type = T;
};
template <class T>
struct OperandOf<T, true> {
  using type = unsigned char;
};

template <class Op, class T>
unsigned ternary_kernel(const void* const* in, void* result, std::int64_t n, const Params& params) {
  using A = typename OperandOf<T, Op::kMask == 0>::type;
  using B = typename OperandOf<T, Op::kMask == 1>::type;
  using C = typename OperandOf<T, Op::kMask == 2>::type;
  const A* a = static_cast<const A*>(in[0]);
  const B* b = static_cast<const B*>(in[1]);
  const C* c = static_cast<const C*>(in[2]);
  T* out = static_cast<T*>(result);
  const Params p = params;
  unsigned bad = 0;
  KILN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i], c[i], p, bad);
  return bad;
}

template <class T>
constexpr Compute kComputeOf = Compute::F32;
template <>
constexpr Compute kComputeOf<double> = Compute::F64;
template <>
constexpr Compute kComputeOf<math::Int32> = Compute::I32;
template <>
constexpr Compute kComputeOf<math::Int64> = Compute::I64;

template <class Op, class T>
void add_unary(KernelTable& table, int row) {
  if constexpr (scalar::allowed<T>(Op::kTypes)) {
    table.kernels[row][static_cast<int>(kComputeOf<T>)] = &unary_kernel<Op, T>;
  }
}
template <class Op, class T>
void add_binary(KernelTable& table, int row) {
  if constexpr (scalar::allowed<T>(Op::kTypes)) {
    table.kernels[row][static_cast<int>(kComputeOf<T>)] = &binary_kernel<Op, T>;
  }
}
template <class Op, class T>
void add_ternary(KernelTable& table, int row) {
  if constexpr (scalar::allowed<T>(Op::kTypes)) {
    table.kernels[row][static_cast<int>(kComputeOf<T>)] = &ternary_kernel<Op, T>;
  }
}

}  // namespace
}  // namespace kiln::cpu::KILN_ISA
