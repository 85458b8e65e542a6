// Owns folding neighbouring outputs as vectors, in the fixed order, whatever the elements are made of.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// acc[i] takes rows[0][i], rows[1][i], … in turn. What will be wanted next lies `ahead` elements further.
template <class C, int kRows, class T, class P>
void combine(T* __restrict acc, const P (&rows)[kRows], std::int64_t count, std::int64_t ahead = 0) {
  using Vector = WideVector<T>;
  constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vector a = load_vector<Vector>(acc + i);
#pragma GCC unroll 4
    for (int k = 0; k < kRows; ++k) {
      __builtin_prefetch(address(rows[k] + (i + ahead)));
      a = C::apply(a, load_wide<T>(rows[k] + i));
    }
    std::memcpy(acc + i, &a, sizeof a);
  }
  for (; i < count; ++i)
    for (int k = 0; k < kRows; ++k) acc[i] = C::apply(acc[i], static_cast<T>(widen(rows[k][i])));
}

template <class C, class T, class P>
void combine(T* __restrict acc, P from, std::int64_t count) {
  const P rows[] = {from};
  combine<C, 1>(acc, rows, count);
}

// One block of the sequences of `width` outputs. `source.row(r, buffer)` gives the r-th elements of all of
// them, in the buffer or elsewhere; `source.ahead(r, s)` how far those of s lie behind those of r, for
// prefetching, or 0. Where `Source::kInPlace`, no row needs a buffer.
template <class C, class T, class Source>
class ColumnBlock {
 public:
  static constexpr int kBuffers = 4;
  static constexpr int kNodes = 6;  // results pending in the tree over 32 lanes
  // `memory` holds kNodes * width accumulators, `buffers` kBuffers * width.
  ColumnBlock(const Source& source, std::int64_t count, std::int64_t width, T* memory, T* buffers)
      : source_(source), count_(count), width_(width), memory_(memory), buffers_(buffers) {}

  const T* fold() {
    if constexpr (kAnyOrder<T>) {
      fold_lane(0, 1, memory_);
    } else {
      fold_node(0, 1, memory_, memory_ + width_);
    }
    return memory_;
  }

 private:
  // Lanes that are folded together while they are in registers: 0, 8, 16 and 24 further.
  static constexpr int kLeafStep = 8;
  static constexpr int kLeafLanes = kReductionLanes / kLeafStep;
  static constexpr int kLeafRows = 4;  // of each lane, at most

  // The lanes congruent to `lane` modulo `step`, folded as the fixed order does it.
  void fold_node(std::int64_t lane, int step, T* to, T* scratch) {
    if constexpr (Source::kInPlace) {
      if (step == kLeafStep && count_ <= kLeafRows * kReductionLanes) return fold_leaf(lane, to);
    }
    if (step == kReductionLanes) return fold_lane(lane, kReductionLanes, to);
    fold_node(lane, step * 2, to, scratch);
    if (lane + step >= count_) return;  // no such lane has an element
    fold_node(lane + step, step * 2, scratch, scratch + width_);
    combine<C>(to, static_cast<const T*>(scratch), width_);
  }

  // Four lanes of few rows each, vector by vector.
  void fold_leaf(std::int64_t lane, T* to) {
    using Row = decltype(source_.row(0, to));
    Row rows[kLeafLanes][kLeafRows];
    int counts[kLeafLanes] = {};
    for (int l = 0; l < kLeafLanes; ++l)
      for (std::int64_t r = lane + l * kLeafStep; r < count_; r += kReductionLanes)
        rows[l][counts[l]++] = source_.row(r, nullptr);
    constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
    std::int64_t i = 0;
    for (; i + kWidth <= width_; i += kWidth) {
      const auto result =
          fold_lanes_at<WideVector<T>>(rows, counts, [&](Row row) { return load_wide<T>(row + i); });
      std::memcpy(to + i, &result, sizeof result);
    }
    for (; i < width_; ++i)
      to[i] = fold_lanes_at<T>(rows, counts, [&](Row row) { return static_cast<T>(widen(row[i])); });
  }
  template <class V, class Row, class Load>
  [[gnu::always_inline]] static V fold_lanes_at(const Row (&rows)[kLeafLanes][kLeafRows],
                                                const int (&counts)[kLeafLanes], const Load& load) {
    V lanes[kLeafLanes];
#pragma GCC unroll 4
    for (int l = 0; l < kLeafLanes; ++l) {
      lanes[l] = V{} + C::template identity<T>();
      for (int k = 0; k < counts[l]; ++k) lanes[l] = C::apply(lanes[l], load(rows[l][k]));
    }
#pragma GCC unroll 4
    for (int half = kLeafLanes / 2; half >= 1; half /= 2)
      for (int l = 0; l < half; ++l) lanes[l] = C::apply(lanes[l], lanes[l + half]);
    return lanes[0];
  }

  // Rows `first`, `first + step`, … in turn.
  void fold_lane(std::int64_t first, std::int64_t step, T* to) {
    std::fill(to, to + width_, C::template identity<T>());
    std::int64_t r = first;
    for (; r + (kBuffers - 1) * step < count_; r += kBuffers * step) {
      const std::int64_t next = r + kBuffers * step;
      combine<C, kBuffers>(to, {row(r, 0), row(r + step, 1), row(r + 2 * step, 2), row(r + 3 * step, 3)},
                           width_, next < count_ ? source_.ahead(r, next) : 0);
    }
    for (; r < count_; r += step) combine<C>(to, row(r, 0), width_);
  }
  auto row(std::int64_t r, int k) const { return source_.row(r, buffers_ + k * width_); }

  const Source& source_;
  std::int64_t count_;
  std::int64_t width_;
  T* memory_;
  T* buffers_;
};

}  // namespace kiln::cpu::KILN_ISA
