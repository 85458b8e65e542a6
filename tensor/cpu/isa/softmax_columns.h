// Owns softmax along columns: as many neighbouring ones at a time as stay in a cache with all of their rows.
// Included only by files that are compiled once per instruction set.
#pragma once

#include <memory>

#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/exp_rows.h"
#include "tensor/cpu/row_job.h"

namespace kiln::cpu::KILN_ISA {

template <class A>
struct TileRows {
  static constexpr bool kInPlace = true;
  const A* at;
  std::int64_t stride;
  const A* row(std::int64_t r, A*) const { return at + r * stride; }
  std::int64_t ahead(std::int64_t r, std::int64_t s) const { return (s - r) * stride; }
};
// e to the elements.
template <class A>
struct TilePowers {
  static constexpr bool kInPlace = false;
  const A* at;
  std::int64_t width;
  const A* row(std::int64_t r, A* buffer) const {
    exp_shifted(at + r * width, A(0), width, buffer);
    return buffer;
  }
  std::int64_t ahead(std::int64_t, std::int64_t) const { return 0; }
};

template <class E>
class SoftmaxTile {
 public:
  using A = AccumulatorOf<E>;
  explicit SoftmaxTile(const SoftmaxColumnsJob& job)
      : job_(job),
        elements_(new A[static_cast<std::size_t>(job.count * job.tile)]),
        memory_(new A[static_cast<std::size_t>(kMemoryRows * job.tile)]) {}

  // Columns [first, first + width) of a matrix.
  void run(std::int64_t matrix, std::int64_t first, std::int64_t width) {
    start_ = matrix * job_.count * job_.columns + first;
    width_ = width;
    const TileRows<A> x = read();
    const A* highest = fold<MaxOf>(x);
    job_.log ? finish_log(x, highest) : finish(x, highest);
  }

 private:
  using Block = ColumnBlock<SumOf, A, TileRows<A>>;
  static constexpr std::int64_t kMemoryRows = Block::kNodes + Block::kBuffers;

  void finish(const TileRows<A>& x, const A* highest) {
    A* shifted = buffers();
    each_row([&](std::int64_t r, A* power) {
      shift(x.row(r, nullptr), highest, shifted);
      exp_shifted(static_cast<const A*>(shifted), A(0), width_, power);
    });
    A* scale = fold<SumOf>(TileRows<A>{elements_.get(), width_});
    for (std::int64_t w = 0; w < width_; ++w) scale[w] = A(1) / scale[w];
    each_row([&](std::int64_t r, A* y) {
      for (std::int64_t w = 0; w < width_; ++w) y[w] *= scale[w];
      write(r, y);
    });
  }
  void finish_log(const TileRows<A>& x, const A* highest) {
    each_row([&](std::int64_t r, A* shifted) { shift(x.row(r, nullptr), highest, shifted); });
    A* total = fold<SumOf>(TilePowers<A>{elements_.get(), width_});
    for (std::int64_t w = 0; w < width_; ++w) total[w] = math::log(total[w]);
    each_row([&](std::int64_t r, A* y) {
      for (std::int64_t w = 0; w < width_; ++w) y[w] -= total[w];
      write(r, y);
    });
  }
  void shift(const A* x, const A* highest, A* to) const {
    for (std::int64_t w = 0; w < width_; ++w) to[w] = x[w] - highest[w];
  }
  // Into memory that the next fold writes again.
  template <class C, class Source>
  A* fold(const Source& source) {
    ColumnBlock<C, A, Source>(source, job_.count, width_, memory_.get(), buffers()).fold();
    return memory_.get();
  }
  A* buffers() { return memory_.get() + Block::kNodes * width_; }
  template <class F>
  void each_row(const F& f) {
    for (std::int64_t r = 0; r < job_.count; ++r) f(r, elements_.get() + r * width_);
  }
  // Where they lie, or widened.
  TileRows<A> read() {
    const E* from = reinterpret_cast<const E*>(job_.in) + start_;
    if constexpr (kIsHalf<E>) {
      each_row([&](std::int64_t r, A* x) { widen_all(from + r * job_.columns, width_, x); });
      return {elements_.get(), width_};
    } else {
      return {from, job_.columns};
    }
  }
  void write(std::int64_t r, const A* y) {
    E* to = reinterpret_cast<E*>(job_.out) + start_ + r * job_.columns;
    if constexpr (kIsHalf<E>)
      narrow_all(y, width_, to);
    else
      std::copy_n(y, width_, to);
  }
  const SoftmaxColumnsJob& job_;
  std::unique_ptr<A[]> elements_;  // [count, width]
  std::unique_ptr<A[]> memory_;
  std::int64_t start_ = 0, width_ = 0;
};

template <class E>
void softmax_columns(const SoftmaxColumnsJob& job, std::int64_t begin, std::int64_t end) {
  SoftmaxTile<E> tile(job);
  const std::int64_t tiles = (job.columns + job.tile - 1) / job.tile;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % tiles * job.tile;
    tile.run(unit / tiles, first, std::min(job.tile, job.columns - first));
  }
}

}  // namespace kiln::cpu::KILN_ISA
