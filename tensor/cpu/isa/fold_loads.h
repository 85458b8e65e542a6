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

// `count` elements, `stride` apart, widened. Every other one of vectors is known to the compiler.
template <class In>
[[gnu::noinline]] void gather(const In* in, std::int64_t stride, std::int64_t count, AccumulatorOf<In>* out) {
  if (stride == 2) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = widen(in[2 * i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = widen(in[i * stride]);
  }
}

// As `FoldLoadFn` states it.
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
