// Owns the scalar function of each elementwise row as a type: `scalar::exp::apply(x, p, bad)`.
// For kernels of every instruction set, LLVM bitcode and NVRTC: see tensor/math.h.
#pragma once

#include "tensor/cpu/pointwise_params.h"
#include "tensor/math.h"

namespace kiln {

// Positions of the rows.
enum Row : int {
#define KILN_UNARY(name, ...) kRow_##name,
#define KILN_BINARY(name, ...) kRow_##name,
#define KILN_TERNARY(name, ...) kRow_##name,
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
  kRowCount,
};

namespace scalar {

// Types of the arithmetic that a rule allows.
enum class TypeSet : unsigned char { Floats, Integers, All };
inline constexpr TypeSet Same = TypeSet::All, First = TypeSet::All, Arithmetic = TypeSet::All,
                         Difference = TypeSet::All, Predicate = TypeSet::All, Quotient = TypeSet::All,
                         Float = TypeSet::Floats, Bitwise = TypeSet::Integers, Integer = TypeSet::Integers;
template <class T>
constexpr bool allowed(TypeSet set) {
  return set == TypeSet::All || (set == TypeSet::Floats) == math::kIsFloating<T>;
}

constexpr bool same_text(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}
// Is the text of a guard anything but `true`?
constexpr bool has_range(const char* guard) { return !same_text(guard, "true"); }
constexpr bool is_predicate(const char* rule) { return same_text(rule, "Predicate"); }

inline constexpr int kNoMask = -1;

// `kInRange` promises that `in_range` holds, of floats and integers alike: where `kHasRange` is set, look
// before promising.
#define KILN_UNARY(name, parameters, rule, body, guard, ...)                          \
  struct name {                                                                       \
    static constexpr TypeSet kTypes = rule;                                           \
    static constexpr bool kPredicate = is_predicate(#rule);                           \
    static constexpr bool kHasRange = has_range(#guard);                              \
    template <class T>                                                                \
    KILN_MATH bool in_range([[maybe_unused]] T x, [[maybe_unused]] const Params& p) { \
      return guard;                                                                   \
    }                                                                                 \
    template <bool kInRange = false, class T>                                         \
    KILN_MATH auto apply([[maybe_unused]] T x, [[maybe_unused]] const Params& p,      \
                         [[maybe_unused]] unsigned& bad) {                            \
      return body;                                                                    \
    }                                                                                 \
  };
#define KILN_BINARY(name, parameters, rule, body, guard, ...)                                               \
  struct name {                                                                                             \
    static constexpr TypeSet kTypes = rule;                                                                 \
    static constexpr bool kPredicate = is_predicate(#rule);                                                 \
    static constexpr bool kHasRange = has_range(#guard);                                                    \
    template <class T>                                                                                      \
    KILN_MATH bool in_range([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] const Params& p) { \
      return guard;                                                                                         \
    }                                                                                                       \
    template <bool kInRange = false, class T>                                                               \
    KILN_MATH auto apply(T a, T b, [[maybe_unused]] const Params& p, [[maybe_unused]] unsigned& bad) {      \
      return body;                                                                                          \
    }                                                                                                       \
  };
#define KILN_TERNARY(name, parameters, rule, body, mask, ...)                                               \
  struct name {                                                                                             \
    static constexpr TypeSet kTypes = rule;                                                                 \
    static constexpr bool kPredicate = is_predicate(#rule);                                                 \
    static constexpr int kMask = mask;                                                                      \
    template <class A, class B, class C>                                                                    \
    KILN_MATH auto apply(A a, B b, C c, [[maybe_unused]] const Params& p, [[maybe_unused]] unsigned& bad) { \
      return body;                                                                                          \
    }                                                                                                       \
  };
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY

}  // namespace scalar
}  // namespace kiln
