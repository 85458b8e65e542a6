// Owns folding neighbouring outputs as vectors, in the fixed order, whatever the elements are made of.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/cpu/isa/lanes.h"
#include "tensor/cpu/prefetch.h"

namespace kiln::cpu::KILN_ISA {

// Rows of several results per place, `P::add<C>(acc, rows, count, ahead)` of which does what `combine`
// states.
template <class P, class C, class T>
inline constexpr bool kAddsItself =
    requires(T* acc, const P (&rows)[4]) { P::template add<C>(acc, rows, 0, 0); };

template <class C, int kRows, bool kStarts, class T, class P>
void combine_elements(T* __restrict acc, const P (&rows)[kRows], std::int64_t count, std::int64_t ahead) {
  using Vector = WideVector<T>;
  constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vector a = kStarts ? Vector{} + C::template identity<T>() : load_vector<Vector>(acc + i);
#pragma GCC unroll 4
    for (int k = 0; k < kRows; ++k) {
      cpu::prefetch(rows[k] + (i + ahead));
      a = C::apply(a, load_wide<T>(rows[k] + i));
    }
    std::memcpy(acc + i, &a, sizeof a);
  }
  for (; i < count; ++i) {
    if (kStarts) acc[i] = C::template identity<T>();
    for (int k = 0; k < kRows; ++k) acc[i] = C::apply(acc[i], static_cast<T>(widen(rows[k][i])));
  }
}

// acc[i] takes rows[0][i], rows[1][i], … in turn, from what it holds on or, where it starts, from nothing.
// What will be wanted next lies `ahead` elements further.
template <class C, int kRows, bool kStarts = false, class T, class P>
void combine(T* __restrict acc, const P (&rows)[kRows], std::int64_t count, std::int64_t ahead = 0) {
  if constexpr (kAddsItself<P, C, T>) {
    static_assert(!kStarts);
    P::template add<C>(acc, rows, count, ahead);
  } else {
    combine_elements<C, kRows, kStarts>(acc, rows, count, ahead);
  }
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
  // In memory, in any order.
  static constexpr bool kHasElements =
      Source::kInPlace && !kAddsItself<decltype(std::declval<const Source&>().row(0, nullptr)), C, T>;
  static constexpr int kNodes = 6;  // results pending in the tree over 32 lanes
  static constexpr std::int64_t kStrip = 256, kFewRows = 512;
  // What `fold` needs for `width` outputs, in accumulators.
  static constexpr std::int64_t memory_of(std::int64_t width) {
    const std::int64_t nodes = kNodes * width;
    return kHasElements ? std::max(nodes, width + (kReductionLanes / 2 + 1) * kStrip) : nodes;
  }
  // `memory` holds memory_of(width) accumulators, `buffers` kBuffers * width, where rows need any.
  ColumnBlock(const Source& source, std::int64_t count, std::int64_t width, T* memory, T* buffers)
      : source_(source),
        count_(count),
        width_(width),
        memory_(memory),
        buffers_(buffers),
        leaf_step_(with_leaf(count, [](auto shape) { return shape.kStep; })) {}

  const T* fold() {
    if constexpr (kAnyOrder<T>) {
      fold_lane(0, 1, memory_);
    } else if (goes_by_strips()) {
      if constexpr (kHasElements)
        for (std::int64_t column = 0; column < width_; column += kStrip) fold_strip(column);
    } else {
      fold_node(0, 1, memory_, memory_ + width_);
    }
    return memory_;
  }

 private:
  // Fewer rows have leaves, more of them take as long either way.
  bool goes_by_strips() const { return kHasElements && count_ > 2 * kReductionLanes && count_ <= kFewRows; }

  // Lanes that are folded together while they are in registers, `step` apart; how many rows each has at most.
  template <int kTheStep, int kTheLanes, int kTheRows>
  struct LeafShape {
    static constexpr int kStep = kTheStep, kLanes = kTheLanes, kRows = kTheRows;
  };
  // Calls f with the leaf for `count` rows; 0 lanes: there are too many for leaves.
  template <class F>
  static auto with_leaf(std::int64_t count, const F& f) {
    if (count <= 4) return f(LeafShape<1, 4, 1>());
    if (count <= 8) return f(LeafShape<1, 8, 1>());
    if (count <= 16) return f(LeafShape<1, 16, 1>());
    if (count <= 32) return f(LeafShape<2, 16, 1>());
    if (count <= 64) return f(LeafShape<8, 4, 2>());
    return f(LeafShape<0, 0, 0>());
  }

  // The lanes congruent to `lane` modulo `step`, folded as the fixed order does it.
  void fold_node(std::int64_t lane, int step, T* to, T* scratch) {
    if constexpr (kHasElements) {
      if (step == leaf_step_) {
        return with_leaf(count_, [&](auto shape) { fold_leaf(shape, lane, to); });
      }
    }
    if (step == kReductionLanes) return fold_lane(lane, kReductionLanes, to);
    fold_node(lane, step * 2, to, scratch);
    if (lane + step >= count_) return;  // no such lane has an element
    fold_node(lane + step, step * 2, scratch, scratch + width_);
    combine<C>(to, static_cast<const T*>(scratch), width_);
  }

  // Vector by vector.
  template <int kStep, int kLanes, int kRows>
  void fold_leaf(LeafShape<kStep, kLanes, kRows>, std::int64_t lane, T* to) {
    using Row = decltype(source_.row(0, to));
    LeafRows<Row, kLanes, kRows> rows;
    bool whole = true;
    for (int l = 0; l < kLanes; ++l) {
      for (std::int64_t r = lane + l * kStep; r < count_; r += kReductionLanes)
        rows.at[l][rows.counts[l]++] = source_.row(r, nullptr);
      whole = whole && rows.counts[l] == kRows;
    }
    return whole ? fold_rows<true>(rows, to) : fold_rows<false>(rows, to);
  }
  void fold_leaf(LeafShape<0, 0, 0>, std::int64_t, T*) {}

  template <class Row, int kLanes, int kRows>
  struct LeafRows {
    Row at[kLanes][kRows];
    int counts[kLanes] = {};
  };
  template <bool kWhole, class Rows>
  void fold_rows(const Rows& rows, T* to) {
    constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
    std::int64_t i = 0;
    for (; i + kWidth <= width_; i += kWidth) {
      const auto result =
          fold_rows_at<kWhole, WideVector<T>>(rows, [&](auto row) { return load_wide<T>(row + i); });
      std::memcpy(to + i, &result, sizeof result);
    }
    for (; i < width_; ++i)
      to[i] = fold_rows_at<kWhole, T>(rows, [&](auto row) { return static_cast<T>(widen(row[i])); });
  }
  template <bool kWhole, class V, class Row, int kLanes, int kRows, class Load>
  [[gnu::always_inline]] static V fold_rows_at(const LeafRows<Row, kLanes, kRows>& rows, const Load& load) {
    V lanes[kLanes];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) {
      lanes[l] = V{} + C::template identity<T>();
      for (int k = 0; k < (kWhole ? kRows : rows.counts[l]); ++k)
        lanes[l] = C::apply(lanes[l], load(rows.at[l][k]));
    }
#pragma GCC unroll 4
    for (int half = kLanes / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
      for (int l = 0; l < half; ++l) lanes[l] = C::apply(lanes[l], lanes[l + half]);
    return lanes[0];
  }

  // Up to kStrip columns, lane after lane: rows are read one behind the other, as the processor guesses, in
  // as many places as a lane has rows.
  void fold_strip(std::int64_t column) {
    constexpr int kHalf = kReductionLanes / 2;
    const std::int64_t width = std::min(kStrip, width_ - column);
    T* const lanes = memory_ + column;
    T* const other = lanes + kHalf * width;
    for (int lane = 0; lane < kHalf; ++lane) start_lane(lane, column, width, lanes + lane * width);
    for (int lane = 0; lane < kHalf; ++lane) {
      start_lane(lane + kHalf, column, width, other);
      combine<C>(lanes + lane * width, static_cast<const T*>(other), width);
    }
    for (int half = kHalf / 2; half >= 1; half /= 2)
      combine<C>(lanes, static_cast<const T*>(lanes + half * width), half * width);
  }
  void start_lane(std::int64_t lane, std::int64_t column, std::int64_t width, T* to) {
    constexpr std::int64_t kStep = kReductionLanes;
    const auto at = [&](std::int64_t r) { return source_.row(r, nullptr) + column; };
    const std::int64_t last = (count_ - 1 - lane) / kStep;
    std::int64_t r = lane;
    if (last == 0) return combine<C, 1, true>(to, {at(r)}, width);
    if (last == 1) return combine<C, 2, true>(to, {at(r), at(r + kStep)}, width);
    if (last == 2) return combine<C, 3, true>(to, {at(r), at(r + kStep), at(r + 2 * kStep)}, width);
    combine<C, 4, true>(to, {at(r), at(r + kStep), at(r + 2 * kStep), at(r + 3 * kStep)}, width);
    for (r += 4 * kStep; r + 3 * kStep < count_; r += 4 * kStep)
      combine<C, 4>(to, {at(r), at(r + kStep), at(r + 2 * kStep), at(r + 3 * kStep)}, width);
    for (; r < count_; r += kStep) combine<C>(to, at(r), width);
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
  auto row(std::int64_t r, int k) const {
    return source_.row(r, Source::kInPlace ? nullptr : buffers_ + k * width_);
  }

  const Source& source_;
  std::int64_t count_;
  std::int64_t width_;
  T* memory_;
  T* buffers_;
  int leaf_step_;
};

}  // namespace kiln::cpu::KILN_ISA
