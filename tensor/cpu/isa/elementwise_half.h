// Owns the loops of elementwise rows over halves: operands widen to f32, the scalar function is applied, the
// results are rounded, vector by vector in registers where the function is short. Included only by files
// compiled once per instruction set; what it defines has internal linkage.
#pragma once

#include <array>

#include "tensor/cpu/isa/elementwise.h"

#if defined(__F16C__)
#include "tensor/cpu/isa/half_lanes.h"
#include "tensor/cpu/prefetch.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// How one operand is read: halves; bytes; or there is none.
enum class Read { Halves, Mask, None };

template <class Op, int kOperands>
constexpr Read read_of(int operand) {
  if (operand >= kOperands) return Read::None;
  if constexpr (kOperands == 3) {
    if (operand == Op::kMask) return Read::Mask;
  }
  return Read::Halves;
}

// kPair elements of an operand from place i on, in the order of the type S; `E` is S, or f32 that it was
// widened to.
template <class S, class E, Read kRead>
struct Chunk {
  std::conditional_t<kRead == Read::Mask, Words, Floats> first, second;

  [[gnu::always_inline]] void load(const void* from, std::int64_t i) {
    if constexpr (kRead == Read::Halves) load_pair(static_cast<const E*>(from) + i, first, second);
    if constexpr (kRead == Read::Mask)
      load_mask_pair<S>(static_cast<const std::uint8_t*>(from) + i, first, second);
  }
};

template <class Op, int kCount, class S>
class HalfKernel {
 public:
  static constexpr int kOperands = kCount;

  static unsigned run(const void* const* in, void* out, std::int64_t n, const Params& params) {
    const HalfKernel kernel(params);
    auto* const results = static_cast<Result*>(out);
    const std::int64_t whole = n / kPair * kPair;
    unsigned bad = 0;
    const auto step = [&](std::int64_t begin, std::int64_t count) __attribute__((always_inline)) {
      const Sources sources = from(in, begin);
      prefetch(sources, count);
      bad |= kernel.block(sources, count, results + begin);
    };
    std::int64_t begin = 0;
    for (; begin + kStep <= whole; begin += kStep) step(begin, kStep);  // of a length that is known
    if (begin < whole) step(begin, whole - begin);
    return whole < n ? bad | kernel.rest(from(in, whole), n - whole, results + whole) : bad;
  }

 private:
  using Result = std::conditional_t<Op::kPredicate, std::uint8_t, S>;
  using Sources = std::array<const void*, 3>;
  template <int kAt>
  static constexpr Read kRead = read_of<Op, kOperands>(kAt);
  // Long ones in blocks so short that conversions of the next begin while this one is computed.
  static constexpr std::int64_t kStep = kIsLong<Op> ? 128 : kBlock<S>;

  explicit HalfKernel(const Params& params) : params_(known<S>(params)) {}

  // The operands from an element on.
  static Sources from(const void* const* in, std::int64_t begin) {
    Sources sources{};
    each<kOperands>([&](auto at) {
      constexpr int kAt = decltype(at)::value;
      sources[kAt] = in[kAt];
      if constexpr (kRead<kAt> == Read::Halves) sources[kAt] = static_cast<const S*>(in[kAt]) + begin;
      if constexpr (kRead<kAt> == Read::Mask)
        sources[kAt] = static_cast<const std::uint8_t*>(in[kAt]) + begin;
    });
    return sources;
  }
  static void prefetch(const Sources& sources, std::int64_t count) {
    each<kOperands>([&](auto at) {
      constexpr int kAt = decltype(at)::value;
      if constexpr (kRead<kAt> == Read::Halves) {
        prefetch_ahead(static_cast<const S*>(sources[kAt]), count);
      }
    });
  }

  unsigned block(const Sources& sources, std::int64_t count, Result* out) const {
    if constexpr (kIsLong<Op>) {
      return long_block(sources, count, out);
    } else {
      return loop<true, S>(sources, count, out);
    }
  }

  // Each step of a long function waits for the one before. Conversions would make that chain longer: they are
  // loops of their own, over f32 in the first cache.
  unsigned long_block(const Sources& sources, std::int64_t count, Result* out) const {
    alignas(64) float wide[kOperands][kStep];
    Sources widened = sources;
    Words outside = {};
    Chunks<S> chunks;
    for (std::int64_t i = 0; i < count; i += kPair) {
      chunks.load(sources, i);
      const auto& [a, b, c] = chunks;
      const auto keep = [&](auto at, const auto& chunk) __attribute__((always_inline)) {
        constexpr int kAt = decltype(at)::value;
        if constexpr (kRead<kAt> == Read::Halves) {
          store_pair<Known::Nothing>(chunk.first, chunk.second, wide[kAt] + i);
          widened[kAt] = wide[kAt];
        }
      };
      keep(std::integral_constant<int, 0>(), a);
      keep(std::integral_constant<int, 1>(), b);
      keep(std::integral_constant<int, 2>(), c);
      if constexpr (Op::kHasRange) {
        find_outside(a.first, b.first, outside);
        find_outside(a.second, b.second, outside);
      }
    }
    if constexpr (Op::kPredicate) {
      return loop<true, float>(widened, count, out);
    } else {
      alignas(64) float results[kStep];
      if (Op::kHasRange && any(outside)) {
        const unsigned bad = long_loop<false>(widened, count, results);
        narrow<Known::Nothing>(results, count, out);
        return bad;
      }
      const unsigned bad = long_loop<true>(widened, count, results);
      narrow<Op::kHasRange && kOperands == 1 ? Known::Numbers : Known::Nothing>(results, count, out);
      return bad;
    }
  }
  template <Known kKnown>
  [[gnu::always_inline]] static void narrow(const float* results, std::int64_t count, Result* out) {
    for (std::int64_t i = 0; i < count; i += kPair) {
      Floats first, second;
      load_pair(results + i, first, second);
      store_pair<kKnown>(first, second, out + i);
    }
  }
  // Of f32 in two arrays.
  template <bool kInRange>
  [[gnu::always_inline]] unsigned long_loop(const Sources& sources, std::int64_t count, float* out) const {
    if constexpr (kOperands == 1)
      return unary_loop<kInRange, Op, float, float>(static_cast<const float*>(sources[0]), out, count,
                                                    params_);
    else
      return loop<kInRange, float>(sources, count, out);
  }
  template <class A, class B>
  [[gnu::always_inline]] void find_outside(const A& a, [[maybe_unused]] const B& b, Words& outside) const {
    KILN_LANES
    for (int k = 0; k < kFloats; ++k) {
      if constexpr (kOperands == 1) outside[k] = Op::in_range(a[k], params_) ? outside[k] : 1U;
      if constexpr (kOperands == 2) outside[k] = Op::in_range(a[k], b[k], params_) ? outside[k] : 1U;
    }
  }

  template <class E>
  struct Chunks {
    Chunk<S, E, kRead<0>> a;
    Chunk<S, E, kRead<1>> b;
    Chunk<S, E, kRead<2>> c;

    [[gnu::always_inline]] void load(const Sources& sources, std::int64_t i) {
      a.load(sources[0], i), b.load(sources[1], i), c.load(sources[2], i);
    }
  };

  using Results = std::conditional_t<Op::kPredicate, Words, Floats>;

  template <bool kInRange, class E, class R>
  unsigned loop(const Sources& sources, std::int64_t count, R* out) const {
    const Params p = params_;
    unsigned bad = 0;
    const auto apply = [&](const auto& a, const auto& b, const auto& c, Results& results)
                           __attribute__((always_inline)) {
                             KILN_LANES
                             for (int k = 0; k < kFloats; ++k) {
                               if constexpr (kOperands == 1)
                                 results[k] = Op::template apply<kInRange>(a[k], p, bad);
                               if constexpr (kOperands == 2)
                                 results[k] = Op::template apply<kInRange>(a[k], b[k], p, bad);
                               if constexpr (kOperands == 3) results[k] = Op::apply(a[k], b[k], c[k], p, bad);
                             }
                           };
    Chunks<E> chunks;
    for (std::int64_t i = 0; i < count; i += kPair) {
      chunks.load(sources, i);
      Results first, second;
      apply(chunks.a.first, chunks.b.first, chunks.c.first, first);
      apply(chunks.a.second, chunks.b.second, chunks.c.second, second);
      put(first, second, out + i);
    }
    return bad;
  }
  template <class R>
  [[gnu::always_inline]] static void put(const Results& first, const Results& second, R* to) {
    if constexpr (Op::kPredicate) {
      store_truth_pair<S>(first, second, to);
    } else {
      store_pair<Known::Nothing>(first, second, to);
    }
  }

  // Fewer than two vectors, filled up with the first of them.
  unsigned rest(const Sources& sources, std::int64_t count, Result* out) const {
    S halves[kOperands][kPair];
    std::uint8_t masks[kPair];
    Sources filled = sources;
    each<kOperands>([&](auto at) {
      constexpr int kAt = decltype(at)::value;
      const auto fill = [&](const auto* some, auto* to) {
        for (std::int64_t k = 0; k < kPair; ++k) to[k] = some[k < count ? k : 0];
        filled[kAt] = to;
      };
      if constexpr (kRead<kAt> == Read::Halves) fill(static_cast<const S*>(sources[kAt]), halves[kAt]);
      if constexpr (kRead<kAt> == Read::Mask) fill(static_cast<const std::uint8_t*>(sources[kAt]), masks);
    });
    Result results[kPair];
    const unsigned bad = block(filled, kPair, results);
    std::memcpy(out, results, static_cast<std::size_t>(count) * sizeof(Result));
    return bad;
  }

  const Params params_;
};

template <class Op, int kOperands, class S>
void add_half(OpKernels& kernels, DType dtype) {
  using Kernel = HalfKernel<Op, kOperands, S>;
  const auto of_dtype = static_cast<int>(dtype);
  kernels.block[of_dtype] = &Kernel::run;
  kernels.rows[of_dtype][0] = &rows_kernel<Kernel>;
}
template <class Op, int kOperands>
void add_halves(KernelTable& table, int row) {
  if constexpr (scalar::allowed<float>(Op::kTypes)) {
    add_half<Op, kOperands, Half>(table.rows[row], DType::F16);
    add_half<Op, kOperands, BFloat16>(table.rows[row], DType::BF16);
  }
}

}  // namespace
}  // namespace kiln::cpu::KILN_ISA
#endif
