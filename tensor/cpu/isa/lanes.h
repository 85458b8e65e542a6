// Owns the fixed order (tensor/fixed_order.h) within one instruction set: combining functions, lanes, block
// trees. Included only by files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/cpu/isa/wide_load.h"
#include "tensor/fixed_order.h"

namespace kiln::cpu::KILN_ISA {

// Each works on scalars and on vectors alike.
struct SumOf {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};
struct ProdOf {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
// Of scalars, or of vectors of them.
template <class V>
inline constexpr bool kIntegral = [] {
  if constexpr (std::is_arithmetic_v<V>)
    return std::is_integral_v<V>;
  else
    return std::is_integral_v<std::remove_reference_t<decltype(std::declval<V&>()[0])>>;
}();

// The last of equals, or the first that is not a number. Integers have none of those: written so, compilers
// see that there is one instruction for it.
struct MaxOf {
  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class V>
  static V apply(V a, V b) {
    if constexpr (kIntegral<V>)
      return a > b ? a : b;
    else
      return ((a > b) | (a != a)) ? a : b;
  }
};
struct MinOf {
  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class V>
  static V apply(V a, V b) {
    if constexpr (kIntegral<V>)
      return a < b ? a : b;
    else
      return ((a < b) | (a != a)) ? a : b;
  }
};

// Integers give the same bits in whatever order they are combined.
template <class T>
inline constexpr bool kAnyOrder = std::is_integral_v<T>;

// The lanes of one block, in registers. Chunks are multiples of the lanes but for the last.
template <class C, class T>
class Lanes {
 public:
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  // More than the order has of integers: four vectors, which need not wait for each other.
  static constexpr int kLanes = kAnyOrder<T> ? std::max(kReductionLanes, 4 * kWidth) : kReductionLanes;
  static constexpr int kCount = kLanes / kWidth;
  using Vector = WideVector<T>;

  Lanes() {
    for (int k = 0; k < kCount; ++k) acc_[k] = identity();
  }

  // From a pointer to elements of T, or to narrower ones that widen to it.
  template <class P>
  void add(P from, std::int64_t count) {
    Vector acc[kCount];
    assign(acc, acc_);
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) add_group(acc, from + i);
    add_rest(acc, from + i, count - i);
    assign(acc_, acc);
  }

  // A run of a sequence that goes on elsewhere. The first of its elements is for `lane`; gives the lane for
  // the element after its last.
  template <class P>
  std::int64_t add_run(P from, std::int64_t count, std::int64_t lane) {
    if constexpr (kAnyOrder<T>) {
      add(from, count);
      return 0;
    } else {
      std::int64_t taken = 0;
      if (lane != 0) {
        taken = std::min<std::int64_t>(kLanes - lane, count);
        add_part(from - lane, lane, lane + taken);
      }
      if (taken < count) add(from + taken, count - taken);
      return (lane + count) % kLanes;
    }
  }

  // `runs` of them of `count` elements each, few, that begin a `stride` apart: without a branch that depends
  // on the lane where one begins.
  template <class P>
  std::int64_t add_short_runs(P from, std::int64_t runs, std::int64_t stride, std::int64_t count,
                              std::int64_t lane) {
    const auto bits_below = [](std::int64_t end) {
      return (std::uint64_t{1} << std::clamp<std::int64_t>(end, 0, kLanes)) - 1;
    };
    const std::int64_t groups = (count + 2 * kLanes - 2) / kLanes;  // at most, wherever a run begins
    Vector acc[kCount];
    assign(acc, acc_);
    for (; runs > 0; --runs, from += stride, lane = (lane + count) % kLanes) {
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t begin = group * kLanes - lane;  // of the group, within the run
        const std::uint64_t lanes = bits_below(count - begin) & ~bits_below(-begin);
#pragma GCC unroll 16
        for (int k = 0; k < kCount; ++k) {
          const std::uint64_t mask = lanes >> (k * kWidth) & ((std::uint64_t{1} << kWidth) - 1);
          acc[k] =
              C::apply(acc[k], load_masked<T>(from + (begin + k * kWidth), mask, C::template identity<T>()));
        }
      }
    }
    assign(acc_, acc);
    return lane;
  }

  // The lanes folded in halves until one vector is left.
  Vector folded() const {
    Vector acc[kCount];
    assign(acc, acc_);
#pragma GCC unroll 8
    for (int half = kCount / 2; half >= 1; half /= 2)
      for (int k = 0; k < half; ++k) acc[k] = C::apply(acc[k], acc[k + half]);
    return acc[0];
  }
  T result() const { return fold_vector(folded()); }

  // The same of at most kVectors vectors of elements, the last of which has `last` of them.
  template <int kVectors, class P>
  [[gnu::always_inline]] static Vector fold_few(P from, std::int64_t last) {
    static_assert(kVectors <= kCount);
    Vector acc[kVectors];
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      const P each = from + k * kWidth;
      acc[k] = C::apply(identity(), k + 1 < kVectors || last == kWidth
                                        ? load_wide<T>(each)
                                        : load_some<T>(each, last, C::template identity<T>()));
    }
#pragma GCC unroll 8
    for (int half = kCount / 2; half >= 1; half /= 2)
      for (int k = 0; k < half && k + half < kVectors; ++k) acc[k] = C::apply(acc[k], acc[k + half]);
    return acc[0];
  }

  // The rest of the way, of one vector or of as many as a vector holds: result k is that of vectors[k].
  static T fold_vector(const Vector& vector) {
    T lane[kWidth];
    std::memcpy(lane, &vector, sizeof lane);
#pragma GCC unroll 8
    for (int half = kWidth / 2; half >= 1; half /= 2)
      for (int j = 0; j < half; ++j) lane[j] = C::apply(lane[j], lane[j + half]);
    return lane[0];
  }
  static Vector fold_vectors(Vector (&vectors)[kWidth]) {
    fold_pairs<kWidth>(vectors);
    return vectors[0];
  }
  static Vector identity() { return Vector{} + C::template identity<T>(); }

 private:
  // Each vector holds kWidth / kBlock stretches of kBlock lanes. Halves of the stretches are combined, those
  // of two vectors at a time, so that half as many full vectors are left.
  template <int kBlock>
  static void fold_pairs(Vector (&vectors)[kWidth]) {
    constexpr int kLeft = kBlock / 2;
    constexpr std::make_integer_sequence<int, kWidth> kAll;
#pragma GCC unroll 32
    for (int k = 0; k < kLeft; ++k) {
      const Vector low = pick_halves<kBlock, 0>(vectors[2 * k], vectors[2 * k + 1], kAll);
      const Vector high = pick_halves<kBlock, kLeft>(vectors[2 * k], vectors[2 * k + 1], kAll);
      vectors[k] = C::apply(low, high);
    }
    if constexpr (kLeft > 1) fold_pairs<kLeft>(vectors);
  }
  // The lower halves (or those from kOffset) of the stretches of a, then of b.
  template <int kBlock, int kOffset, int... kAt>
  [[gnu::always_inline]] static Vector pick_halves(Vector a, Vector b, std::integer_sequence<int, kAt...>) {
    constexpr int kHalf = kBlock / 2;
    return __builtin_shufflevector(a, b, (kAt / kHalf * kBlock + kAt % kHalf + kOffset)...);
  }

  // Vector by vector: a copy of the whole array would go through narrower registers and stall.
  static void assign(Vector (&to)[kCount], const Vector (&from)[kCount]) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) to[k] = from[k];
  }
  template <class P>
  static void add_group(Vector (&acc)[kCount], P from) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) acc[k] = C::apply(acc[k], load_wide<T>(from + k * kWidth));
  }
  // Those of lanes [first, last), of a group that begins at `from`.
  template <class P>
  void add_part(P from, std::int64_t first, std::int64_t last) {
    const std::uint64_t lanes = (std::uint64_t{1} << last) - (std::uint64_t{1} << first);
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      const std::uint64_t mask = lanes >> (k * kWidth) & ((std::uint64_t{1} << kWidth) - 1);
      if (mask == 0) continue;
      acc_[k] = C::apply(acc_[k], load_masked<T>(from + k * kWidth, mask, C::template identity<T>()));
    }
  }

  // Fewer elements than lanes: whole vectors, then one filled up with the identity.
  template <class P>
  static void add_rest(Vector (&acc)[kCount], P from, std::int64_t count) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t left = count - k * kWidth;
      if (left <= 0) return;
      acc[k] =
          C::apply(acc[k], left >= kWidth ? load_wide<T>(from + k * kWidth)
                                          : load_some<T>(from + k * kWidth, left, C::template identity<T>()));
    }
  }
  Vector acc_[kCount];
};

// The tree over blocks, fed in order: the same pairs as combining level by level.
template <class C, class T>
class BlockTree {
 public:
  void add(T value) {
    for (std::uint64_t c = blocks_++; (c & 1) != 0; c >>= 1) value = C::apply(pending_[--top_], value);
    pending_[top_++] = value;
  }
  T result() const {  // after at least one `add`
    T value = pending_[top_ - 1];
    for (int i = top_ - 2; i >= 0; --i) value = C::apply(pending_[i], value);
    return value;
  }

 private:
  T pending_[56];
  int top_ = 0;
  std::uint64_t blocks_ = 0;
};

// Folds a contiguous sequence of any length.
template <class C, class T>
T fold_contiguous(const T* from, std::int64_t count) {
  BlockTree<C, T> tree;
  std::int64_t begin = 0;
  do {
    const std::int64_t block = count - begin < kReductionBlock ? count - begin : kReductionBlock;
    Lanes<C, T> lanes;
    lanes.add(from + begin, block);
    tree.add(lanes.result());
    begin += block;
  } while (begin < count);
  return tree.result();
}

}  // namespace kiln::cpu::KILN_ISA
