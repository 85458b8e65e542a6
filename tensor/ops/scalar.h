// Owns the scalar function of each elementwise row as a type: `scalar::exp::apply(x, p, bad)`.
// For kernels of every instruction set, LLVM bitcode and NVRTC: see tensor/math.h.
#pragma once

#include "tensor/math.h"
#include "tensor/ops/row_flags.h"
#include "tensor/pointwise_params.h"

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

// Is the flag one of those in the text: "kCommutative | kFewSteps"?
constexpr bool has_flag(const char* flags, const char* flag) {
  for (const char* at = flags; *at != 0; ++at) {
    const char* a = at;
    const char* b = flag;
    while (*b != 0 && *a == *b) ++a, ++b;
    if (*b == 0) return true;
  }
  return false;
}

inline constexpr int kNoMask = -1;

// Attribute i in the type of the arithmetic.
template <class T>
KILN_MATH T given(const Params& p, int i) {
  return ((p.integers >> i) & 1U) != 0 ? static_cast<T>(p.n[i]) : static_cast<T>(p.v[i]);
}

// `kInRange` promises that `in_range` holds, of floats and integers alike: where `kHasRange` is set, look
// before promising.
#define KILN_UNARY(name, parameters, rule, body, guard, dx, range, flags, ...)        \
  struct name {                                                                       \
    static constexpr TypeSet kTypes = rule;                                           \
    static constexpr bool kPredicate = is_predicate(#rule);                           \
    static constexpr bool kFewSteps = has_flag(#flags, "kFewSteps");                  \
    static constexpr bool kHasRange = has_range(#guard);                              \
    static constexpr bool kBriefInRange = has_flag(#flags, "kBriefInRange");          \
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
#define KILN_BINARY(name, parameters, rule, body, guard, da, db, range_a, range_b, flags, ...)              \
  struct name {                                                                                             \
    static constexpr TypeSet kTypes = rule;                                                                 \
    static constexpr bool kPredicate = is_predicate(#rule);                                                 \
    static constexpr bool kFewSteps = has_flag(#flags, "kFewSteps");                                        \
    static constexpr bool kHasRange = has_range(#guard);                                                    \
    static constexpr bool kBriefInRange = has_flag(#flags, "kBriefInRange");                                \
    template <class T>                                                                                      \
    KILN_MATH bool in_range([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] const Params& p) { \
      return guard;                                                                                         \
    }                                                                                                       \
    template <bool kInRange = false, class T>                                                               \
    KILN_MATH auto apply(T a, T b, [[maybe_unused]] const Params& p, [[maybe_unused]] unsigned& bad) {      \
      return body;                                                                                          \
    }                                                                                                       \
  };
#define KILN_TERNARY(name, parameters, rule, body, mask, da, db, dc, range_a, range_b, range_c, flags, ...) \
  struct name {                                                                                             \
    static constexpr TypeSet kTypes = rule;                                                                 \
    static constexpr bool kPredicate = is_predicate(#rule);                                                 \
    static constexpr bool kFewSteps = has_flag(#flags, "kFewSteps");                                        \
    static constexpr bool kHasRange = false;                                                                \
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
