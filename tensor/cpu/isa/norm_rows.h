// Owns the kernels of layer_norm and rms_norm over rows, and of their gradients. Included only by files that
// are compiled once per instruction set.
#pragma once

#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/row_memory.h"
#include "tensor/cpu/isa/row_stats.h"
#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/integers.h"

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
    A* const y = rows.out(r);
    const RowStats<A> stats = row_stats<Centered>(x, job.size, job.epsilon);
    const A *weight = rows.column(0), *bias = rows.column(1);
    normalize(x, stats.mean, stats.rstd, weight, bias, rows.count(), y);
    rows.finish(r);
  }
}

// With xhat = (x - mean) * rstd and h(i) = gradient * weight:
// dx = (h - mean(h) - xhat * mean(h * xhat)) * rstd, where mean(h) is left out of rms_norm.
// `count`: n, or more that may be written.
template <bool Centered, class A, class H>
void norm_gradient(const H& h, const A* __restrict x, const RowStats<A>& stats, std::int64_t n,
                   std::int64_t count, A* __restrict dx) {
  const A mean = stats.mean, rstd = stats.rstd;
  const auto product = [=](const auto& read) { return h(read) * ((read(x) - mean) * rstd); };
  const auto sums = fold_two_made<SumOf, A>(n, h, product);
  const A mean_h = Centered ? sums[0] / static_cast<A>(n) : A(0), mean_hx = sums[1] / static_cast<A>(n);
  for (std::int64_t i = 0; i < count; ++i) {
    const A each = h([i](const A* row) { return row[i]; });
    dx[i] = (each - mean_h - (x[i] - mean) * rstd * mean_hx) * rstd;
  }
}

template <class E, bool Centered>
void norm_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict weight = rows.column(0);
    const A* __restrict g = rows.in(0, r);
    const A* __restrict x = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const auto stats = row_stats<Centered>(x, job.size, job.epsilon);
    if (weight) {
      const auto h = [=](const auto& read) { return read(g) * read(weight); };
      norm_gradient<Centered>(h, x, stats, job.size, rows.count(), dx);
    } else {
      norm_gradient<Centered>([=](const auto& read) { return read(g); }, x, stats, job.size, rows.count(),
                              dx);
    }
    rows.finish(r);
    rows.set_row(0, r, stats.mean);
    rows.set_row(1, r, stats.rstd);
  }
}

// The statistics that a row has, and those that its columns have.
template <class A>
struct OfRow {
  A mean, rstd;
  template <class V>
  V xhat(V x, std::int64_t) const {
    return (x - mean) * rstd;
  }
};
template <class A>
struct OfColumns {
  const A *mean, *rstd;
  template <class V>
  V xhat(V x, std::int64_t i) const {
    return (x - load_vector<V>(mean + i)) * load_vector<V>(rstd + i);
  }
};

// A row of a tile: gradient * xhat of each column, and then the gradient of each.
template <class E, class Statistics>
struct NormRow {
  using A = AccumulatorOf<E>;
  const E *g, *x;
  Statistics statistics;

  template <class C, int kRows>
  static void add(A* __restrict acc, const NormRow (&rows)[kRows], std::int64_t count, std::int64_t ahead) {
    const std::int64_t width = count / 2;
    A* __restrict products = acc;
    A* __restrict gradients = acc + width;
    std::int64_t i = 0;
    for (; i + kWidth<A> <= width; i += kWidth<A>) {
      auto product = load_wide<A>(products + i), gradient = load_wide<A>(gradients + i);
#pragma GCC unroll 4
      for (const NormRow& row : rows) {
        cpu::prefetch(row.g + i + ahead);
        cpu::prefetch(row.x + i + ahead);
        const auto g = load_wide<A>(row.g + i);
        product = C::apply(product, g * row.statistics.xhat(load_wide<A>(row.x + i), i));
        gradient = C::apply(gradient, g);
      }
      store(products + i, product);
      store(gradients + i, gradient);
    }
    for (; i < width; ++i) {
      for (const NormRow& row : rows) {
        const A g = widen(row.g[i]);
        products[i] = C::apply(products[i], g * row.statistics.xhat(A(widen(row.x[i])), i));
        gradients[i] = C::apply(gradients[i], g);
      }
    }
  }
};

template <class E, class Statistics>
class NormTile {
 public:
  static constexpr bool kInPlace = true;
  using A = AccumulatorOf<E>;
  NormTile(const NormColumnsJob& job, std::int64_t first, std::int64_t column)
      : job_(job), first_(first), column_(column) {}

  NormRow<E, Statistics> row(std::int64_t r, A*) const {
    const std::int64_t at = (first_ + r) * job_.size + column_;
    return {reinterpret_cast<const E*>(job_.gradient) + at, reinterpret_cast<const E*>(job_.x) + at,
            statistics(r)};
  }
  std::int64_t ahead(std::int64_t r, std::int64_t s) const { return (s - r) * job_.size; }

 private:
  Statistics statistics(std::int64_t r) const {
    const A* mean = reinterpret_cast<const A*>(job_.mean);
    const A* rstd = reinterpret_cast<const A*>(job_.rstd);
    if constexpr (std::is_same_v<Statistics, OfColumns<A>>)
      return {mean + column_, rstd + column_};
    else
      return {mean != nullptr ? mean[first_ + r] : A(0), rstd[first_ + r]};
  }
  const NormColumnsJob& job_;
  std::int64_t first_, column_;
};

template <class E, class Statistics>
void norm_columns_by(const NormColumnsJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  const std::int64_t tiles = ceil_divide(job.size, job.tile);
  A* results = reinterpret_cast<A*>(job.results);
  using Block = ColumnBlock<SumOf, A, NormTile<E, Statistics>>;
  alignas(64) A memory[Block::memory_of(2 * kNormColumnTile)];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t column = unit % tiles * job.tile;
    const std::int64_t block = unit / tiles;
    const std::int64_t first = block * kReductionBlock;
    const std::int64_t width = std::min(job.tile, job.size - column);
    const NormTile<E, Statistics> tile(job, first, column);
    Block(tile, std::min(kReductionBlock, job.rows - first), 2 * width, memory, nullptr).fold();
    for (std::int64_t half = 0; half < 2; ++half)
      for (std::int64_t i = 0; i < width; ++i)
        results[(half * job.size + column + i) * job.blocks + block] = memory[half * width + i];
  }
}

template <class E>
void norm_columns(const NormColumnsJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  return job.statistics_of_columns ? norm_columns_by<E, OfColumns<A>>(job, begin, end)
                                   : norm_columns_by<E, OfRow<A>>(job, begin, end);
}

}  // namespace kiln::cpu::KILN_ISA
