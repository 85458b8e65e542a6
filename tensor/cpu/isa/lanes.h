// Owns the fixed order (tensor/fixed_order.h) within one instruction set: combining functions, lanes, block
// trees. Included only by files that are compiled once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "tensor/fixed_order.h"

namespace kiln::cpu::KILN_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// Each works on scalars and on vectors alike.
struct SumOf {
  static constexpr bool kAssociative = false;
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
  static constexpr bool kAssociative = false;
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
// Not-a-number wins, from either side.
struct MaxOf {
  static constexpr bool kAssociative = true;  // the last of equals, the first that is no number
  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class V>
  static V apply(V a, V b) {
    return ((a > b) | (a != a)) ? a : b;
  }
  // The same where none is not-a-number.
  template <class V>
  static V apply_numbers(V a, V b) {
    return a > b ? a : b;
  }
};
struct MinOf {
  static constexpr bool kAssociative = true;
  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class V>
  static V apply(V a, V b) {
    return ((a < b) | (a != a)) ? a : b;
  }
  template <class V>
  static V apply_numbers(V a, V b) {
    return a < b ? a : b;
  }
};

template <class Vector, class T>
inline Vector load_vector(const T* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// The lanes of one block, in registers. Chunks are multiples of the lanes but for the last.
template <class C, class T>
class Lanes {
 public:
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kCount = kReductionLanes / kWidth;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));

  Lanes() {
    for (int k = 0; k < kCount; ++k) acc_[k] = Vector{} + C::template identity<T>();
  }

  void add(const T* from, std::int64_t count) {
    Vector acc[kCount];
    assign(acc, acc_);
    std::int64_t i = 0;
    if constexpr (C::kAssociative && kCount <= 2) i = add_quarters(acc, from, count);
    for (; i + kReductionLanes <= count; i += kReductionLanes) add_group(acc, from + i);
    add_rest(acc, from + i, count - i);
    assign(acc_, acc);
  }

  T result() const {
    Vector acc[kCount];
    assign(acc, acc_);
#pragma GCC unroll 8
    for (int half = kCount / 2; half >= 1; half /= 2)
      for (int k = 0; k < half; ++k) acc[k] = C::apply(acc[k], acc[k + half]);
    T lane[kWidth];
    std::memcpy(lane, &acc[0], sizeof lane);
#pragma GCC unroll 8
    for (int half = kWidth / 2; half >= 1; half /= 2)
      for (int j = 0; j < half; ++j) lane[j] = C::apply(lane[j], lane[j + half]);
    return lane[0];
  }

 private:
  // Vector by vector: a copy of the whole array would go through narrower registers and stall.
  static void assign(Vector (&to)[kCount], const Vector (&from)[kCount]) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) to[k] = from[k];
  }
  static void add_group(Vector (&acc)[kCount], const T* from) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      acc[k] = C::apply(acc[k], load_vector<Vector>(from + k * kWidth));
    }
  }
  // Where few vectors hold the lanes: four stretches side by side, so that one step need not wait for the one
  // before; then the four in their order. Tells how many elements it took.
  static std::int64_t add_quarters(Vector (&acc)[kCount], const T* from, std::int64_t count) {
    const std::int64_t quarter = count / (4 * kReductionLanes) * kReductionLanes;
    Vector numbers[kCount];
    assign(numbers, acc);
    const auto by_one_comparison = [](Vector a, Vector b) { return C::apply_numbers(a, b); };
    if (!add_stretches<true>(numbers, from, quarter, by_one_comparison)) {
      assign(acc, numbers);
    } else {
      add_stretches<false>(acc, from, quarter, [](Vector a, Vector b) { return C::apply(a, b); });
    }
    return 4 * quarter;
  }
  // Tells, when it looks, whether any operand is not a number.
  template <bool kLooks, class Apply>
  static bool add_stretches(Vector (&acc)[kCount], const T* from, std::int64_t quarter, const Apply& apply) {
    Vector stretch[4][kCount];
    assign(stretch[0], acc);
    for (int q = 1; q < 4; ++q)
      for (Vector& each : stretch[q]) each = Vector{} + C::template identity<T>();
    auto nans = unordered(acc[0], acc[kCount - 1]);
    for (std::int64_t i = 0; i < quarter; i += kReductionLanes) {
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        Vector next[kCount];
#pragma GCC unroll 2
        for (int k = 0; k < kCount; ++k) next[k] = load_vector<Vector>(from + q * quarter + i + k * kWidth);
        if (kLooks) nans |= unordered(next[0], next[kCount - 1]);
#pragma GCC unroll 2
        for (int k = 0; k < kCount; ++k) stretch[q][k] = apply(stretch[q][k], next[k]);
      }
    }
    assign(acc, stretch[0]);
    for (int q = 1; q < 4; ++q)
      for (int k = 0; k < kCount; ++k) acc[k] = C::apply(acc[k], stretch[q][k]);
    return nans != 0;
  }
  // Lanes where either is not a number. Few vectors hold all lanes only where they are so wide.
  static std::uint32_t unordered([[maybe_unused]] Vector a, [[maybe_unused]] Vector b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>)
      return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), _CMP_UNORD_Q);
#endif
    return ~0U;
  }
  // Fewer elements than lanes: whole vectors, then one filled up with the identity.
  static void add_rest(Vector (&acc)[kCount], const T* from, std::int64_t count) {
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t left = count - k * kWidth;
      if (left <= 0) return;
      if (left >= kWidth) {
        acc[k] = C::apply(acc[k], load_vector<Vector>(from + k * kWidth));
        continue;
      }
      T rest[kWidth];
      for (int j = 0; j < kWidth; ++j) rest[j] = j < left ? from[k * kWidth + j] : C::template identity<T>();
      acc[k] = C::apply(acc[k], load_vector<Vector>(rest));
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
