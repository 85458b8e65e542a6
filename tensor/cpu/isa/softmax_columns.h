// Owns softmax along columns: a few neighbouring ones are copied to where they lie together, and stay there.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <memory>

#include "tensor/cpu/folds/row_job.h"
#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/exp_rows.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/integers.h"

namespace kiln::cpu::KILN_ISA {

// Folds rows of kWidth elements, each column in the fixed order.
template <class C, class A, int kWidth>
class StripLanes {
 public:
  // The next rows: as many as a multiple of the lanes, or the last ones.
  void add(const A* x, std::int64_t rows) {
    for (std::int64_t lane = 0; lane < std::min<std::int64_t>(rows, kReductionLanes); ++lane) {
      for (int w = 0; w < kWidth; w += kVector) {
        A* const at = lanes_ + lane * kWidth + w;
        Vector a = lane < used_ ? load_vector<Vector>(at) : Vector{} + C::template identity<A>();
        for (std::int64_t r = lane; r < rows; r += kReductionLanes)
          a = C::apply(a, load_vector<Vector>(x + r * kWidth + w));
        std::memcpy(at, &a, sizeof a);
      }
    }
    used_ = std::max(used_, std::min<std::int64_t>(rows, kReductionLanes));
  }
  const A* result() {
    for (std::int64_t half = kReductionLanes / 2; half >= 1; half /= 2) {
      if (used_ <= half) continue;
      combine<C>(lanes_, static_cast<const A*>(lanes_ + half * kWidth), (used_ - half) * kWidth);
      used_ = half;
    }
    return lanes_;
  }

 private:
  using Vector = WideVector<A>;
  static constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(A));
  alignas(64) A lanes_[kReductionLanes * kWidth];
  std::int64_t used_ = 0;  // lanes that have elements
};

// A tile is made of strips, a line of a cache wide: rows of a strip follow each other, and what is known of
// its columns stays in registers.
template <class E>
class SoftmaxTile {
 public:
  explicit SoftmaxTile(const SoftmaxColumnsJob& job)
      : job_(job), strips_(new Line[static_cast<std::size_t>((job.count + 1) * (job.tile / kWidth))]) {}

  // Columns [first, first + width) of a matrix.
  void run(std::int64_t matrix, std::int64_t first, std::int64_t width) {
    const std::int64_t start = matrix * job_.count * job_.columns + first;
    read(reinterpret_cast<const E*>(job_.in) + start, width);
    E* to = reinterpret_cast<E*>(job_.out) + start;
    for (std::int64_t w = 0; w < width; w += kWidth) {
      A* x = strip(w / kWidth);
      job_.log ? finish_log(x) : finish(x);
      write(x, std::min<std::int64_t>(kWidth, width - w), to + w);
    }
  }

 private:
  using A = AccumulatorOf<E>;
  static constexpr int kWidth = kSoftmaxLine / static_cast<int>(sizeof(E));
  static constexpr std::int64_t kAhead = 8;  // rows that are asked for before they are wanted
  static constexpr std::int64_t kChunk = 2 * kReductionLanes;  // rows whose powers are made together
  using MaxLanes = StripLanes<MaxOf, A, kWidth>;
  using SumLanes = StripLanes<SumOf, A, kWidth>;
  struct alignas(64) Line {
    A elements[kWidth];
  };

  A* strip(std::int64_t s) { return strips_[static_cast<std::size_t>(s * (job_.count + 1))].elements; }

  void read(const E* from, std::int64_t width) {
    for (std::int64_t r = 0; r < job_.count; ++r, from += job_.columns) {
      for (std::int64_t w = 0; w < width; w += kWidth) {
        if (r + kAhead < job_.count) cpu::prefetch(from + kAhead * job_.columns + w);
        A* x = strip(w / kWidth) + r * kWidth;
        if (width - w >= kWidth) {
          copy_line(from + w, x);
        } else {
          for (std::int64_t i = 0; i < kWidth; ++i)
            x[i] = w + i < width ? static_cast<A>(widen(from[w + i])) : A(0);
        }
      }
    }
  }
  void write(const A* y, std::int64_t width, E* to) const {
    for (std::int64_t r = 0; r < job_.count; ++r, y += kWidth, to += job_.columns) {
      if (r + kAhead < job_.count) cpu::prefetch_to_write(to + kAhead * job_.columns);
      if (width == kWidth) {
        copy_line(y, to);
      } else {
        for (std::int64_t i = 0; i < width; ++i) to[i] = narrow<E>(y[i]);
      }
    }
  }
  template <class From, class To>
  static void copy_line(const From* from, To* to) {
    if constexpr (kIsHalf<To>) {
      narrow_all(from, kWidth, to);
    } else {
      constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(To));
      for (int w = 0; w < kWidth; w += kVector) {
        const auto wide = load_wide<To>(from + w);
        std::memcpy(to + w, &wide, sizeof wide);
      }
    }
  }

  void finish(A* x) const {
    MaxLanes lanes;
    SumLanes sums;
    add_powers<true>(x, find_highest(x, lanes), sums);
    A scale[kWidth];
    for (int w = 0; w < kWidth; ++w) scale[w] = A(1) / sums.result()[w];
    each_row(x, [&](A* y) {
      for (int w = 0; w < kWidth; ++w) y[w] *= scale[w];
    });
  }
  void finish_log(A* x) const {
    MaxLanes lanes;
    SumLanes sums;
    const A* const highest = find_highest(x, lanes);
    add_powers<false>(x, highest, sums);
    A total[kWidth];
    for (int w = 0; w < kWidth; ++w) total[w] = math::log(sums.result()[w]);
    each_row(x, [&](A* y) {
      for (int w = 0; w < kWidth; ++w) y[w] = (y[w] - highest[w]) - total[w];
    });
  }
  // e to the elements less the highest of their column; `kKept` where those were.
  template <bool kKept>
  void add_powers(A* x, const A* highest, SumLanes& sums) const {
    each_chunk([&](std::int64_t first, std::int64_t rows) {
      alignas(64) A powers[kChunk * kWidth];
      exp_lines<kWidth>(x + first * kWidth, highest, rows, powers);
      sums.add(powers, rows);
      if constexpr (kKept) std::copy_n(powers, rows * kWidth, x + first * kWidth);
    });
  }
  const A* find_highest(const A* x, MaxLanes& lanes) const {
    each_chunk([&](std::int64_t first, std::int64_t rows) { lanes.add(x + first * kWidth, rows); });
    return lanes.result();
  }
  template <class F>
  void each_chunk(const F& f) const {
    for (std::int64_t r = 0; r < job_.count; r += kChunk) f(r, std::min(kChunk, job_.count - r));
  }
  template <class F>
  void each_row(A* x, const F& f) const {
    for (std::int64_t r = 0; r < job_.count; ++r) f(x + r * kWidth);
  }

  const SoftmaxColumnsJob& job_;
  std::unique_ptr<Line[]> strips_;  // [strips, count]
};

template <class E>
void softmax_columns(const SoftmaxColumnsJob& job, std::int64_t begin, std::int64_t end) {
  SoftmaxTile<E> tile(job);
  const std::int64_t tiles = ceil_divide(job.columns, job.tile);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % tiles * job.tile;
    tile.run(unit / tiles, first, std::min(job.tile, job.columns - first));
  }
}

}  // namespace kiln::cpu::KILN_ISA
