// Owns folding rows whose elements lie together, several at a time. Included only by files that are
// compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// The results of units one after the other, folded several at a time.
template <class C, class T, class Out>
class Results {
 public:
  using All = Lanes<C, T>;
  using Vector = typename All::Vector;
  explicit Results(Out* to) : to_(to) {}
  ~Results() {
    for (int k = 0; k < pending_; ++k) *to_++ = static_cast<Out>(All::fold_vector(vectors_[k]));
  }
  void add(const Vector& lanes) {
    vectors_[pending_++] = lanes;
    if (pending_ == All::kWidth) write();
  }
  // As many as a vector holds, of which lanes(k) gives the k-th, when none are pending. Their places are
  // known then, and the processor need not wait for what was just written there.
  template <class F>
  [[gnu::always_inline]] void add_all(const F& lanes) {
#pragma GCC unroll 8
    for (int k = 0; k < All::kWidth; ++k) vectors_[k] = lanes(k);
    write();
  }

 private:
  void write() {
    pending_ = 0;
    T results[All::kWidth];
    if constexpr (sizeof(T) >= 4) {
      const Vector all = All::fold_vectors(vectors_);
      std::memcpy(results, &all, sizeof all);
    } else {
      for (int k = 0; k < All::kWidth; ++k) results[k] = All::fold_vector(vectors_[k]);
    }
    for (int k = 0; k < All::kWidth; ++k) to_[k] = static_cast<Out>(results[k]);
    to_ += All::kWidth;
  }
  Out* to_;
  int pending_ = 0;
  Vector vectors_[All::kWidth];
};

// A row of some that lie `step` apart.
template <class P>
[[gnu::always_inline]] inline P row_at(P from, std::int64_t row, std::int64_t step) {
  return from + row * step;
}

// `rows` rows of `size` elements as they lie, `step` apart: few, which kVectors vectors hold, or any number.
template <class C, class T, int kVectors, class P, class Out>
void fold_dense_few(P from, std::int64_t size, std::int64_t step, std::int64_t rows, Out* to) {
  constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
  if constexpr (kVectors < std::min(4, Lanes<C, T>::kCount)) {
    if (size > kVectors * kWidth) return fold_dense_few<C, T, kVectors + 1>(from, size, step, rows, to);
  }
  const std::int64_t last = size - (kVectors - 1) * kWidth;
  const auto fold = [&](std::int64_t row, std::int64_t some) __attribute__((always_inline)) {
    return Lanes<C, T>::template fold_few<kVectors>(row_at(from, row, step), some);
  };
  Results<C, T, Out> results(to);
  std::int64_t row = 0;
  const auto all_of = [&](auto some) __attribute__((always_inline)) {
    for (; row + kWidth <= rows; row += kWidth)
      results.add_all([&](int k) __attribute__((always_inline)) { return fold(row + k, some); });
  };
  if (last == kWidth) {
    all_of(std::integral_constant<std::int64_t, kWidth>());
  } else {
    all_of(last);
  }
  for (; row < rows; ++row) results.add(fold(row, last));
}
template <class C, class T, class P, class Out>
void fold_dense(P from, std::int64_t size, std::int64_t step, std::int64_t rows, Out* to) {
  if constexpr (sizeof(T) < 4) {
    // A vector of them would hold several short rows: as wider elements fewer lanes are left to fold.
    constexpr std::int64_t kShort = 64;
    if (size <= kShort) return fold_dense<C, std::int32_t>(from, size, step, rows, to);
  } else {
    constexpr std::int64_t kFew = std::min(4, Lanes<C, T>::kCount) * Lanes<C, T>::kWidth;
    if (size <= kFew) return fold_dense_few<C, T, 1>(from, size, step, rows, to);
  }
  Results<C, T, Out> results(to);
  for (std::int64_t row = 0; row < rows; ++row) {
    Lanes<C, T> lanes;
    lanes.add(row_at(from, row, step), size);
    results.add(lanes.folded());
  }
}

}  // namespace kiln::cpu::KILN_ISA
