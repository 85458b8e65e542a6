// Owns the maps of folds: reading elements as what is combined. Included only by files that are compiled once
// per instruction set.
#pragma once

#include "tensor/cpu/folds/fold_job.h"
#include "tensor/cpu/isa/wide_load.h"
#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {

struct Identity {
  template <class T>
  static T apply(T x, T) {
    return x;
  }
};
struct Square {
  template <class T>
  static T apply(T x, T) {
    return x * x;
  }
};
struct Abs {
  template <class T>
  static T apply(T x, T) {
    return x < T{} ? T{} - x : x;
  }
};
struct Distance {
  template <class T>
  static T apply(T x, T c) {
    return x - c;
  }
};
struct AbsDistance {
  template <class T>
  static T apply(T x, T c) {
    return Abs::apply(x - c, c);
  }
};
struct CenteredSquare {
  template <class T>
  static T apply(T x, T c) {
    return (x - c) * (x - c);
  }
};
struct CenteredExp {
  // A call per element would keep the loops from becoming vector code.
  template <class T>
  [[gnu::always_inline]] static T apply(T x, T c) {
    return math::exp(x - c);
  }
};

// Floats that are mapped in registers on their way from memory, as a pointer to what is combined. The map
// leaves 0 what it is, and what is left out of a vector is 0.
template <class M, class In>
struct Mapped {
  using T = AccumulatorOf<In>;
  const In* from;
  T operator[](std::int64_t i) const { return M::apply(T(widen(from[i])), T{}); }
};
template <class M, class In>
Mapped<M, In> operator+(Mapped<M, In> p, std::int64_t n) {
  return {p.from + n};
}
template <class M, class In>
const void* address(Mapped<M, In> p) {
  return p.from;
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_wide(Mapped<M, In> p) {
  return M::apply(load_wide<T>(p.from), WideVector<T>{});
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_masked(Mapped<M, In> p, std::uint64_t mask, T) {
  return M::apply(load_masked<T>(p.from, mask, T{}), WideVector<T>{});
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_some(Mapped<M, In> p, std::int64_t count, T) {
  return M::apply(load_some<T>(p.from, count, T{}), WideVector<T>{});
}

// Likewise of a row, all elements with its center. What is left out of a vector is the identity.
template <class M, class In>
struct FromCenter {
  using T = AccumulatorOf<In>;
  using Map = M;
  using Element = In;
  const In* from;
  T center;
};
template <class M, class In>
FromCenter<M, In> operator+(FromCenter<M, In> p, std::int64_t n) {
  return {p.from + n, p.center};
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_wide(FromCenter<M, In> p) {
  return M::apply(load_wide<T>(p.from), WideVector<T>{} + p.center);
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_masked(FromCenter<M, In> p, std::uint64_t mask, T fill) {
  const WideVector<T> mapped = M::apply(load_masked<T>(p.from, mask, T{}), WideVector<T>{} + p.center);
  return keep_masked<T>(mapped, mask, fill);
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_some(FromCenter<M, In> p, std::int64_t count, T fill) {
  return load_masked<T>(p, (std::uint64_t{1} << count) - 1, fill);
}
template <class P>
inline constexpr bool kIsFromCenter = false;
template <class M, class In>
inline constexpr bool kIsFromCenter<FromCenter<M, In>> = true;

// Rows with a center each.
template <class M, class In>
struct RowsFromCenters {
  const In* from;
  const AccumulatorOf<In>* centers;
};
template <class M, class In>
[[gnu::always_inline]] inline FromCenter<M, In> row_at(RowsFromCenters<M, In> rows, std::int64_t row,
                                                       std::int64_t step) {
  return {rows.from + row * step, rows.centers[row]};
}

// Likewise, each element with the center of its column.
template <class M, class In>
struct Centered {
  using T = AccumulatorOf<In>;
  const In* from;
  const T* centers;
  T operator[](std::int64_t i) const { return M::apply(T(widen(from[i])), centers[i]); }
};
template <class M, class In>
Centered<M, In> operator+(Centered<M, In> p, std::int64_t n) {
  return {p.from + n, p.centers + n};
}
template <class M, class In>
const void* address(Centered<M, In> p) {
  return p.from;
}
template <class T, class M, class In>
[[gnu::always_inline]] inline WideVector<T> load_wide(Centered<M, In> p) {
  return M::apply(load_wide<T>(p.from), load_vector<WideVector<T>>(p.centers));
}
template <class P>
inline constexpr bool kHasCenters = false;
template <class M, class In>
inline constexpr bool kHasCenters<Centered<M, In>> = true;

// A pointer to elements, whether they are mapped or not.
template <class P>
P pointer_at(const std::byte* from, [[maybe_unused]] const std::byte* centers = nullptr) {
  if constexpr (std::is_pointer_v<P>)
    return reinterpret_cast<P>(from);
  else if constexpr (kHasCenters<P>)
    return {reinterpret_cast<decltype(P::from)>(from), reinterpret_cast<decltype(P::centers)>(centers)};
  else
    return {reinterpret_cast<decltype(P::from)>(from)};
}

// `count` elements, `stride` apart, widened. Every other one of vectors is known to the compiler.
template <class In>
[[gnu::noinline]] void gather(const In* in, std::int64_t stride, std::int64_t count, AccumulatorOf<In>* out) {
  if (stride == 2) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = widen(in[2 * i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = widen(in[i * stride]);
  }
}

// As `LoadFn` states it.
template <class M, class In>
void load(const std::byte* from, std::int64_t stride, std::int64_t count, const std::byte* centers,
          std::int64_t center_stride, std::byte* to) {
  using Acc = AccumulatorOf<In>;
  const In* in = reinterpret_cast<const In*>(from);
  const Acc* center = reinterpret_cast<const Acc*>(centers);
  auto* out = reinterpret_cast<Acc*>(to);
  const auto map = [&](const auto& element) {
    const Acc c = center != nullptr ? *center : Acc(0);
    if (center_stride != 0) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = M::apply(element(i), center[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = M::apply(element(i), c);
    }
  };
  if (stride == 1 && !kIsHalf<In>) return map([=](std::int64_t i) { return widen(in[i]); });
  if (stride != 1) {
    gather(in, stride, count, out);
  } else {
    if constexpr (kIsHalf<In>) widen_all(in, count, out);
  }
  if constexpr (!std::is_same_v<M, Identity>) map([=](std::int64_t i) { return out[i]; });
}

// Elements as they are.
template <class In>
void load_kept(const std::byte* from, std::int64_t stride, std::int64_t count, const std::byte*, std::int64_t,
               std::byte* to) {
  const In* in = reinterpret_cast<const In*>(from);
  In* out = reinterpret_cast<In*>(to);
  for (std::int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

template <class In>
bool is_nonzero(In x) {
  if constexpr (kIsHalf<In>)
    return (x.bits & 0x7fffU) != 0;
  else
    return x != In(0);
}

// Whether elements are not zero, as numbers of type Out.
template <class Out, class In>
void load_nonzero(const std::byte* from, std::int64_t stride, std::int64_t count, const std::byte*,
                  std::int64_t, std::byte* to) {
  const In* in = reinterpret_cast<const In*>(from);
  Out* out = reinterpret_cast<Out*>(to);
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = is_nonzero(in[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = is_nonzero(in[i * stride]);
  }
}

}  // namespace kiln::cpu::KILN_ISA
