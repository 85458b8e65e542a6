// Owns folding neighbouring outputs as vectors, in the fixed order, whatever the elements are made of.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// acc[i] takes rows[0][i], rows[1][i], … in turn. What will be wanted next lies `ahead` elements further.
template <class C, int kRows, class T>
void combine(T* __restrict acc, const T* const (&rows)[kRows], std::int64_t count, std::int64_t ahead = 0) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vector a = load_vector<Vector>(acc + i);
#pragma GCC unroll 4
    for (int k = 0; k < kRows; ++k) {
      __builtin_prefetch(rows[k] + i + ahead);
      a = C::apply(a, load_vector<Vector>(rows[k] + i));
    }
    std::memcpy(acc + i, &a, sizeof a);
  }
  for (; i < count; ++i)
    for (int k = 0; k < kRows; ++k) acc[i] = C::apply(acc[i], rows[k][i]);
}

template <class C, class T>
void combine(T* __restrict acc, const T* from, std::int64_t count) {
  combine<C, 1>(acc, {from}, count);
}

// One block of the sequences of `width` outputs. `source.row(r, buffer)` gives the r-th elements of all of
// them, in the buffer or elsewhere; `source.ahead(r, s)` how far those of s lie behind those of r, for
// prefetching, or 0.
template <class C, class T, class Source>
class ColumnBlock {
 public:
  static constexpr int kBuffers = 4;
  static constexpr int kNodes = 6;  // results pending in the tree over 32 lanes
  // `memory` holds kNodes * width accumulators, `buffers` kBuffers * width.
  ColumnBlock(const Source& source, std::int64_t count, std::int64_t width, T* memory, T* buffers)
      : source_(source), count_(count), width_(width), memory_(memory), buffers_(buffers) {}

  const T* fold() {
    fold_node(0, 1, memory_, memory_ + width_);
    return memory_;
  }

 private:
  // The lanes congruent to `lane` modulo `step`, folded as the fixed order does it.
  void fold_node(std::int64_t lane, int step, T* to, T* scratch) {
    if (step == kReductionLanes) return fold_lane(lane, to);
    fold_node(lane, step * 2, to, scratch);
    if (lane + step >= count_) return;  // no such lane has an element
    fold_node(lane + step, step * 2, scratch, scratch + width_);
    combine<C>(to, static_cast<const T*>(scratch), width_);
  }

  void fold_lane(std::int64_t lane, T* to) {
    std::fill(to, to + width_, C::template identity<T>());
    constexpr std::int64_t kStep = kBuffers * kReductionLanes;
    std::int64_t r = lane;
    for (; r + kStep - kReductionLanes < count_; r += kStep) {
      const std::int64_t ahead = r + kStep < count_ ? source_.ahead(r, r + kStep) : 0;
      combine<C, kBuffers>(to, {row(r, 0), row(r, 1), row(r, 2), row(r, 3)}, width_, ahead);
    }
    for (; r < count_; r += kReductionLanes) combine<C>(to, row(r, 0), width_);
  }
  const T* row(std::int64_t r, int k) const {
    return source_.row(r + k * kReductionLanes, buffers_ + k * width_);
  }

  const Source& source_;
  std::int64_t count_;
  std::int64_t width_;
  T* memory_;
  T* buffers_;
};

}  // namespace kiln::cpu::KILN_ISA
