// Owns the kernel of elementwise rows, which copies and fills share: operands of any dtype and layout,
// numbers among them, and results of any dtype and layout without overlap. A thread has a vector of
// neighbours, of one element where they do not lie together.
#pragma once

#include "tensor/cuda/kernels/elementwise_job.h"
#include "tensor/cuda/kernels/nest.cuh"
#include "tensor/cuda/kernels/vectors.cuh"

namespace kiln::cuda {

// ---- Operands ----

// A body with fewer operands does not have it.
struct Nothing {
  template <int kWidth>
  KILN_MATH Vector<Nothing, kWidth> read(const ElementwiseJob&, int, Count) {
    return {};
  }
};

// Elements in memory, as values of a type.
template <class T, class Value, bool kThroughBool = false>
struct Elements {
  KILN_MATH Value value(T x) {
    if constexpr (kThroughBool)
      return scalar::convert<Value>(scalar::widen(scalar::convert<bool>(scalar::widen(x))));
    else
      return scalar::convert<Value>(scalar::widen(x));
  }
  template <int kWidth>
  KILN_MATH Vector<Value, kWidth> read(const ElementwiseJob& job, int k, Count place) {
    Vector<Value, kWidth> values;
    if (kWidth == 1 || (job.repeated >> k & 1U) != 0) {
      const Value one = value(element<T>(job.operands[k], place));
      for (int i = 0; i < kWidth; ++i) values.at[i] = one;
      return values;
    }
    const Vector<T, kWidth> elements = load_vector<T, kWidth>(job.operands[k], place);
    for (int i = 0; i < kWidth; ++i) values.at[i] = value(elements.at[i]);
    return values;
  }
};

template <class Value>
struct Number {
  KILN_MATH Value of(unsigned long long word) {
    if constexpr (sizeof(Value) == 8)
      return __builtin_bit_cast(Value, word);
    else if constexpr (sizeof(Value) == 4)
      return __builtin_bit_cast(Value, static_cast<unsigned>(word));
    else
      return word != 0;
  }
  template <int kWidth>
  KILN_MATH Vector<Value, kWidth> read(const ElementwiseJob& job, int k, Count) {
    const Value one = of(job.numbers[k]);
    Vector<Value, kWidth> values;
    for (int i = 0; i < kWidth; ++i) values.at[i] = one;
    return values;
  }
};

// ---- Bodies ----

// Of copies, casts and fills.
struct Same {
  static constexpr bool kHasRange = false;
  template <class T>
  KILN_MATH T apply(T x, const Params&, unsigned&) {
    return x;
  }
};

// The body with all its branches stands once, however many elements a thread has.
template <class Body, class... T>
KILN_MATH_SLOW auto apply_out_of_range(Params params, T... x) {
  unsigned unused = 0;
  return Body::apply(x..., params, unused);
}
// Floats take the short form of a body where its guard holds.
template <class Body, class T, class... Rest>
KILN_MATH auto apply_guarded(const Params& params, unsigned& bad, T x, Rest... rest) {
  if constexpr (Body::kHasRange && math::kIsFloating<T>) {
    if (!Body::in_range(x, rest..., params)) return apply_out_of_range<Body>(params, x, rest...);
    return Body::template apply<true>(x, rest..., params, bad);
  } else {
    return Body::apply(x, rest..., params, bad);
  }
}

template <class Body, class A, class B, class C>
KILN_MATH auto apply_body(A a, [[maybe_unused]] B b, [[maybe_unused]] C c, const Params& params,
                          unsigned& bad) {
  if constexpr (scalar::kIsSame<B, Nothing>)
    return apply_guarded<Body>(params, bad, a);
  else if constexpr (scalar::kIsSame<C, Nothing>)
    return apply_guarded<Body>(params, bad, a, b);
  else
    return apply_guarded<Body>(params, bad, a, b, c);
}

// ---- Kernels ----

template <class Body, class Out, int kWidth, class A, class B, class C>
KILN_MATH void compute_vector(const ElementwiseJob& job, const Count (&at)[kMostOperands + 1],
                              unsigned& bad) {
  const auto a = A::template read<kWidth>(job, 0, at[0]);
  const auto b = B::template read<kWidth>(job, 1, at[1]);
  const auto c = C::template read<kWidth>(job, 2, at[2]);
  Vector<Out, kWidth> results;
  for (int i = 0; i < kWidth; ++i)
    results.at[i] = scalar::convert<Out>(apply_body<Body>(a.at[i], b.at[i], c.at[i], job.params, bad));
  if constexpr (kWidth == 1)
    put(job.result, at[kMostOperands], results.at[0]);
  else
    store_vector(job.result, at[kMostOperands], results);
}

template <class Body, class Out, int kWidth, class A, class B, class C>
KILN_MATH void compute_elements(const ElementwiseJob& job) {
  if (job.unless != nullptr && *job.unless != 0) return;
  unsigned bad = 0;
  Count at[kMostOperands + 1];
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    places_at(job.axes, job.count, i, at);
    compute_vector<Body, Out, kWidth, A, B, C>(job, at, bad);
  }
  if constexpr (kWidth > 1) {
    if (const Count i = first_thread(); i < job.rest) {
      for (int k = 0; k <= kMostOperands; ++k)
        at[k] = job.axes.strides[k][0] == 0 ? 0 : job.count * kWidth + i;
      compute_vector<Body, Out, 1, A, B, C>(job, at, bad);
    }
  }
  if (bad == 0) return;
  atomicMin_system(job.fault, job.launch << 40);
  if (job.refused != nullptr) atomicExch(job.refused, 1U);
}

}  // namespace kiln::cuda
