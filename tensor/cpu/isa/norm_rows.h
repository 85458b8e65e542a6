// Owns the kernels of layer_norm and rms_norm over rows, and of their gradients. Included only by files that
// are compiled once per instruction set.
#pragma once

#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/row_memory.h"
#include "tensor/cpu/isa/row_stats.h"
#include "tensor/cpu/prefetch.h"

namespace kiln::cpu::KILN_ISA {

// y = (x - mean) * rstd * weight + bias; weight and bias may be absent.
template <class A>
void normalize(const A* __restrict x, A mean, A rstd, const A* __restrict weight, const A* __restrict bias,
               std::int64_t n, A* __restrict y) {
  if (weight && bias) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  } else if (weight) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i];
  } else if (bias) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd + bias[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
  }
}

// Subtracting the mean 0 of rms_norm changes nothing.
template <class E, bool Centered>
void norm(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  for (std::int64_t r = begin; r < end; ++r) {
    const A* x = rows.in(0, r);
    const RowStats<A> stats = row_stats<Centered>(
        x, job.size, job.epsilon, [&](std::int64_t at, std::int64_t n) { rows.prefetch(r + 1, at, n); });
    normalize(x, stats.mean, stats.rstd, rows.column(0), rows.column(1), rows.count(), rows.out(r));
    rows.finish(r);
  }
}

// With xhat = (x - mean) * rstd and h(i) = gradient * weight:
// dx = (h - mean(h) - xhat * mean(h * xhat)) * rstd, where mean(h) is left out of rms_norm.
template <bool Centered, class A, class H>
void norm_gradient(const H& h, const A* __restrict x, const RowStats<A>& stats, std::int64_t n,
                   std::int64_t padded, A* __restrict dx) {
  const A mean = stats.mean, rstd = stats.rstd;
  const auto product = [=](const auto& read) { return h(read) * ((read(x) - mean) * rstd); };
  const auto sums = fold_two_made<SumOf, A>(n, h, product);
  const A mean_h = Centered ? sums[0] / static_cast<A>(n) : A(0), mean_hx = sums[1] / static_cast<A>(n);
  for (std::int64_t i = 0; i < padded; ++i) {
    const A each = h([i](const A* row) { return row[i]; });
    dx[i] = (each - mean_h - (x[i] - mean) * rstd * mean_hx) * rstd;
  }
}

// The gradient of row r, and the row's statistics; `next` is the row after it.
template <bool Centered, class E>
RowStats<AccumulatorOf<E>> norm_row_backward(Rows<E>& rows, const RowJob& job, std::int64_t r,
                                             std::int64_t next) {
  using A = AccumulatorOf<E>;
  const std::int64_t n = job.size, padded = rows.count();
  const A* __restrict weight = rows.column(0);
  const A* __restrict g = rows.in(0, r);
  const A* __restrict x = rows.in(1, r);
  A* __restrict dx = rows.out(r);
  const auto stats = row_stats<Centered>(
      x, n, job.epsilon, [&](std::int64_t at, std::int64_t count) { rows.prefetch(next, at, count); });
  if (weight) {
    const auto h = [=](const auto& read) { return read(g) * read(weight); };
    norm_gradient<Centered>(h, x, stats, n, padded, dx);
  } else {
    norm_gradient<Centered>([=](const auto& read) { return read(g); }, x, stats, n, padded, dx);
  }
  rows.finish(r);
  return stats;
}

template <class E, bool Centered>
void norm_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  Rows<E> rows(job);
  for (std::int64_t r = begin; r < end; ++r) {
    const auto stats = norm_row_backward<Centered>(rows, job, r, r + 1);
    rows.set_row(0, r, stats.mean);
    rows.set_row(1, r, stats.rstd);
  }
}

// Likewise, lane by lane: the rows that the fixed order gives to one lane also add to its sums over rows.
template <class E, bool Centered>
void norm_backward_lanes(const NormLanesJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job.rows);
  const std::int64_t size = job.rows.size;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit / kReductionLanes * kReductionBlock;
    const std::int64_t last = std::min(job.count, first + kReductionBlock);
    A* __restrict products = reinterpret_cast<A*>(job.lanes) + unit * 2 * size;
    A* __restrict totals = products + size;
    std::fill_n(products, 2 * size, SumOf::identity<A>());
    for (std::int64_t r = first + unit % kReductionLanes; r < last; r += kReductionLanes) {
      const auto stats = norm_row_backward<Centered>(rows, job.rows, r, r + kReductionLanes);
      const A* __restrict g = rows.now(0, r);
      const A* __restrict x = rows.now(1, r);
      for (std::int64_t i = 0; i < size; ++i) {
        products[i] += g[i] * ((x[i] - stats.mean) * stats.rstd);
        totals[i] += g[i];
      }
    }
  }
}

// Columns [begin, end) of the 2 * size: the lanes of every block, in halves.
template <class A>
void fold_lanes(const NormLanesJob& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = 2 * job.rows.size;
  A* results = reinterpret_cast<A*>(job.results);
  for (std::int64_t block = 0; block < job.blocks; ++block) {
    A* lanes = reinterpret_cast<A*>(job.lanes) + block * kReductionLanes * width;
    for (int half = kReductionLanes / 2; half >= 1; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        combine<SumOf>(lanes + lane * width + begin,
                       static_cast<const A*>(lanes + (lane + half) * width + begin), end - begin);
      }
    }
    for (std::int64_t i = begin; i < end; ++i) results[i * job.blocks + block] = lanes[i];
  }
}

// Row r of a tile: gradient * xhat of its columns, then their gradient.
template <class E>
class NormTile {
 public:
  static constexpr bool kInPlace = false;
  using A = AccumulatorOf<E>;
  NormTile(const NormColumnsJob& job, std::int64_t first, std::int64_t column, std::int64_t width)
      : job_(job), first_(first), column_(column), width_(width) {}

  const A* row(std::int64_t r, A* __restrict buffer) const {
    const std::int64_t row = first_ + r;
    const E* __restrict g = reinterpret_cast<const E*>(job_.gradient) + row * job_.size + column_;
    const E* __restrict x = reinterpret_cast<const E*>(job_.x) + row * job_.size + column_;
    prefetch(g);
    prefetch(x);
    if (job_.statistics_of_columns) return by_columns(g, x, buffer);
    const A mean = job_.mean ? reinterpret_cast<const A*>(job_.mean)[row] : A(0);
    const A rstd = reinterpret_cast<const A*>(job_.rstd)[row];
    for (std::int64_t i = 0; i < width_; ++i) {
      const A gradient = widen(g[i]);
      buffer[i] = gradient * ((widen(x[i]) - mean) * rstd);
      buffer[width_ + i] = gradient;
    }
    return buffer;
  }
  std::int64_t ahead(std::int64_t, std::int64_t) const { return 0; }

 private:
  // What will be wanted when the rows that are combined together are done; the lanes jump through memory.
  void prefetch(const E* row) const {
    constexpr std::int64_t kRows = 4 * kReductionLanes, kLine = 64 / static_cast<std::int64_t>(sizeof(E));
    for (std::int64_t i = 0; i < width_; i += kLine) cpu::prefetch(row + kRows * job_.size + i);
  }
  const A* by_columns(const E* __restrict g, const E* __restrict x, A* __restrict buffer) const {
    const A* __restrict mean = reinterpret_cast<const A*>(job_.mean) + column_;
    const A* __restrict rstd = reinterpret_cast<const A*>(job_.rstd) + column_;
    for (std::int64_t i = 0; i < width_; ++i) {
      const A gradient = widen(g[i]);
      buffer[i] = gradient * ((widen(x[i]) - mean[i]) * rstd[i]);
      buffer[width_ + i] = gradient;
    }
    return buffer;
  }
  const NormColumnsJob& job_;
  std::int64_t first_, column_, width_;
};

template <class E>
void norm_columns(const NormColumnsJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  const std::int64_t tiles = (job.size + job.tile - 1) / job.tile;
  A* results = reinterpret_cast<A*>(job.results);
  alignas(64) A memory[6 * 2 * kNormColumnTile];
  alignas(64) A buffers[4 * 2 * kNormColumnTile];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t column = unit % tiles * job.tile;
    const std::int64_t block = unit / tiles;
    const std::int64_t first = block * kReductionBlock;
    const std::int64_t width = std::min(job.tile, job.size - column);
    const NormTile<E> tile(job, first, column, width);
    ColumnBlock<SumOf, A, NormTile<E>>(tile, std::min(kReductionBlock, job.rows - first), 2 * width, memory,
                                       buffers)
        .fold();
    for (std::int64_t half = 0; half < 2; ++half)
      for (std::int64_t i = 0; i < width; ++i)
        results[(half * job.size + column + i) * job.blocks + block] = memory[half * width + i];
  }
}

}  // namespace kiln::cpu::KILN_ISA
