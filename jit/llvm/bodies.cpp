// The scalar functions of elementwise rows and the conversions between dtypes over one vector of elements.
// Compiled by clang to LLVM bitcode only; the emitter puts their code into kernels (emit.h: `Bodies`).
//
// The loops have as many turns as a vector has elements, so that the vectorizer leaves none of them: what
// comes out is straight-line code over <16 x T>, which every instruction set takes as it can. Rows that do
// not come out so (long divisions, series) are called as the eager kernels have them.
#include <cstdint>
#include <cstring>

#include "tensor/convert.h"
#include "tensor/ops/scalar.h"

#define KILN_ONE_VECTOR \
  _Pragma("clang loop vectorize(assume_safety) vectorize_width(16) interleave_count(1) unroll(disable)")

namespace kiln {
namespace {

constexpr int kWidth = 16;  // jit/llvm/kernel_code.h

template <class Op, class T>
constexpr bool kExists = scalar::allowed<T>(Op::kTypes);

template <class Op, class T, class... In>
[[gnu::always_inline]] inline void apply(void* result, const Params* params, unsigned* bad, const In*... in) {
  if constexpr (kExists<Op, T>) {
    const Params p = *params;
    unsigned found = 0;
    if constexpr (requires { Op::kMask; }) {
      T* out = static_cast<T*>(result);
      KILN_ONE_VECTOR
      for (int i = 0; i < kWidth; ++i) out[i] = Op::apply(in[i]..., p, found);
    } else {
      using R = decltype(Op::template apply<true>(In()..., p, found));
      R* out = static_cast<R*>(result);
      KILN_ONE_VECTOR
      for (int i = 0; i < kWidth; ++i) out[i] = Op::template apply<true>(in[i]..., p, found);
    }
    *bad |= found;
  }
}

// The whole function on one element, with its branches.
template <class Op, class T, class... In>
[[gnu::always_inline]] inline void apply_one(void* result, const Params* params, unsigned* bad,
                                             const In*... in) {
  if constexpr (kExists<Op, T>) {
    const Params p = *params;
    unsigned found = 0;
    if constexpr (requires { Op::kMask; }) {
      *static_cast<T*>(result) = Op::apply(*in..., p, found);
    } else {
      using R = decltype(Op::apply(In()..., p, found));
      *static_cast<R*>(result) = Op::apply(*in..., p, found);
    }
    *bad |= found;
  }
}

// Not 0 when some element needs the branches of the function.
template <class Op, class T, class... In>
[[gnu::always_inline]] inline unsigned outside(const Params* params, const In*... in) {
  if constexpr (kExists<Op, T>) {
    const Params p = *params;
    unsigned found = 0;
    KILN_ONE_VECTOR
    for (int i = 0; i < kWidth; ++i) found |= Op::in_range(in[i]..., p) ? 0U : 1U;
    return found;
  } else {
    return 0;
  }
}

// Bools in memory are bytes: a mask is read as such.
template <class T, bool kIsMask>
struct OperandOf {
  using Element = T;
};
template <class T>
struct OperandOf<T, true> {
  using Element = unsigned char;
};
template <class Op, int kIndex, class T>
using Operand = typename OperandOf<T, Op::kMask == kIndex>::Element;

template <class From, class To>
[[gnu::always_inline]] inline void convert(const void* source, void* result) {
  const From* from = static_cast<const From*>(source);
  To* to = static_cast<To*>(result);
  KILN_ONE_VECTOR
  for (int i = 0; i < kWidth; ++i) to[i] = scalar::convert<To>(scalar::widen(from[i]));
}

template <class From, class To>
[[gnu::always_inline]] inline void convert_one(const void* source, void* result) {
  *static_cast<To*>(result) = scalar::convert<To>(scalar::widen(*static_cast<const From*>(source)));
}

}  // namespace

// ---- Rows: apply_exp_f32, guard_sin_f64; of one element one_exp_f32 ----

#define KILN_APPLY_UNARY(name, T, suffix)                                                          \
  extern "C" void apply_##name##_##suffix(const T* x, void* out, const Params* p, unsigned* bad) { \
    apply<scalar::name, T>(out, p, bad, x);                                                        \
  }                                                                                                \
  extern "C" unsigned guard_##name##_##suffix(const T* x, const Params* p) {                       \
    return outside<scalar::name, T>(p, x);                                                         \
  }                                                                                                \
  extern "C" void one_##name##_##suffix(const T* x, void* out, const Params* p, unsigned* bad) {   \
    apply_one<scalar::name, T>(out, p, bad, x);                                                    \
  }
#define KILN_APPLY_BINARY(name, T, suffix)                                                                   \
  extern "C" void apply_##name##_##suffix(const T* a, const T* b, void* out, const Params* p,                \
                                          unsigned* bad) {                                                   \
    apply<scalar::name, T>(out, p, bad, a, b);                                                               \
  }                                                                                                          \
  extern "C" unsigned guard_##name##_##suffix(const T* a, const T* b, const Params* p) {                     \
    return outside<scalar::name, T>(p, a, b);                                                                \
  }                                                                                                          \
  extern "C" void one_##name##_##suffix(const T* a, const T* b, void* out, const Params* p, unsigned* bad) { \
    apply_one<scalar::name, T>(out, p, bad, a, b);                                                           \
  }
#define KILN_APPLY_TERNARY(name, T, suffix)                                              \
  extern "C" void apply_##name##_##suffix(                                               \
      const Operand<scalar::name, 0, T>* a, const Operand<scalar::name, 1, T>* b,        \
      const Operand<scalar::name, 2, T>* c, void* out, const Params* p, unsigned* bad) { \
    apply<scalar::name, T>(out, p, bad, a, b, c);                                        \
  }                                                                                      \
  extern "C" void one_##name##_##suffix(                                                 \
      const Operand<scalar::name, 0, T>* a, const Operand<scalar::name, 1, T>* b,        \
      const Operand<scalar::name, 2, T>* c, void* out, const Params* p, unsigned* bad) { \
    apply_one<scalar::name, T>(out, p, bad, a, b, c);                                    \
  }

#define KILN_EACH_COMPUTE(APPLY, name) \
  APPLY(name, float, f32) APPLY(name, double, f64) APPLY(name, math::Int32, i32) APPLY(name, math::Int64, i64)
#define KILN_UNARY(name, ...) KILN_EACH_COMPUTE(KILN_APPLY_UNARY, name)
#define KILN_BINARY(name, ...) KILN_EACH_COMPUTE(KILN_APPLY_BINARY, name)
#define KILN_TERNARY(name, ...) KILN_EACH_COMPUTE(KILN_APPLY_TERNARY, name)
#include "tensor/ops/elementwise.def"

// ---- Conversions: load_f16_f32, store_f32_f16 ----

#define KILN_CONVERT(dtype, T, compute, C)                                                                  \
  extern "C" void load_##dtype##_##compute(const void* from, void* to) { convert<T, C>(from, to); }         \
  extern "C" void store_##compute##_##dtype(const void* from, void* to) { convert<C, T>(from, to); }        \
  extern "C" void one_load_##dtype##_##compute(const void* from, void* to) { convert_one<T, C>(from, to); } \
  extern "C" void one_store_##compute##_##dtype(const void* from, void* to) { convert_one<C, T>(from, to); }
#define KILN_CONVERTS(dtype, T)       \
  KILN_CONVERT(dtype, T, f32, float)  \
  KILN_CONVERT(dtype, T, f64, double) \
  KILN_CONVERT(dtype, T, i32, math::Int32) KILN_CONVERT(dtype, T, i64, math::Int64)
KILN_CONVERTS(bool, bool)
KILN_CONVERTS(u8, std::uint8_t)
KILN_CONVERTS(i8, std::int8_t)
KILN_CONVERTS(i16, std::int16_t)
KILN_CONVERTS(i32, std::int32_t)
KILN_CONVERTS(i64, std::int64_t)
KILN_CONVERTS(f16, Half)
KILN_CONVERTS(bf16, BFloat16)
KILN_CONVERTS(f32, float)
KILN_CONVERTS(f64, double)

}  // namespace kiln
