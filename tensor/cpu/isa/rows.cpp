// Owns the kernels of row programs, compiled once per instruction set. A row stays in cache between its
// passes. Each program is, to the bit, the composition its op's `decompose` states.
#include <algorithm>
#include <cmath>
#include <memory>

#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/isa/lanes.h"
#include "tensor/cpu/isa/row_stats.h"
#include "tensor/cpu/row_job.h"
#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// The rows of a job as accumulators: in place, or, when they are narrow elements or short, in scratch memory.
// There they are padded to whole vectors, so that loops over `count` elements need no scalar rest.
template <class E>
class Rows {
 public:
  using A = AccumulatorOf<E>;

  explicit Rows(const RowJob& job, A padding = 0)
      : job_(job),
        copies_(!std::is_same_v<E, A> || job.size <= kShort),
        count_(copies_ ? (job.size + kPad - 1) / kPad * kPad : job.size),
        scratch_(new A[static_cast<std::size_t>(count_ * kScratchRows)]) {
    std::fill_n(scratch_.get(), count_ * kScratchRows, padding);
    for (int k = 0; k < 2; ++k)
      if (copies_ && job.column[k]) widen_to(job.column[k], scratch(3 + k));
  }
  std::int64_t count() const { return count_; }

  const A* in(int k, std::int64_t row) {
    const std::byte* from = job_.in[k] + row * job_.size * static_cast<std::int64_t>(sizeof(E));
    if (!copies_) return reinterpret_cast<const A*>(from);
    widen_to(from, scratch(k));
    return scratch(k);
  }
  // Null when absent.
  const A* column(int k) {
    if (!copies_ || job_.column[k] == nullptr) return reinterpret_cast<const A*>(job_.column[k]);
    return scratch(3 + k);
  }
  void set_row(int k, std::int64_t r, A value) const {
    if (job_.row_out[k]) reinterpret_cast<A*>(job_.row_out[k])[r] = value;
  }
  // Where the result of a row is computed; `finish` takes it to its place.
  A* out(std::int64_t row) {
    if (copies_ || job_.streaming) return scratch(2);
    return reinterpret_cast<A*>(job_.out) + row * job_.size;
  }
  void finish(std::int64_t row) {
    E* to = reinterpret_cast<E*>(job_.out) + row * job_.size;
    const A* from = scratch(2);
    if (copies_) {
      for (std::int64_t i = 0; i < job_.size; ++i) to[i] = narrow<E>(from[i]);
    } else if (job_.streaming) {
      stream_store(reinterpret_cast<A*>(to), from, job_.size);
    }
  }

 private:
  static constexpr std::int64_t kScratchRows = 5;
  static constexpr std::int64_t kShort = 64;
  static constexpr std::int64_t kPad = 16;
  A* scratch(int k) { return scratch_.get() + k * count_; }
  void widen_to(const std::byte* from, A* to) const {
    const E* elements = reinterpret_cast<const E*>(from);
    for (std::int64_t i = 0; i < job_.size; ++i) to[i] = widen(elements[i]);
  }
  const RowJob& job_;
  bool copies_;
  std::int64_t count_;  // elements of a row, with the padding
  std::unique_ptr<A[]> scratch_;
};

// Padding with -inf leaves the maximum alone and adds exp(-inf) = 0 to the sum.
template <class E>
void softmax(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job, MaxOf::identity<A>());
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict x = rows.in(0, r);
    A* __restrict y = rows.out(r);
    const A m = fold_contiguous<MaxOf>(x, n);
    for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - m);
    const A scale = A(1) / fold_contiguous<SumOf>(static_cast<const A*>(y), n);
    for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
    rows.finish(r);
  }
}

// What a row does not see counts as -inf, and is not looked at.
template <class E>
void causal_softmax(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t seen = std::min(job.size, r % job.queries + 1);
    const A* __restrict x = rows.in(0, r);
    A* __restrict y = rows.out(r);
    const A m = fold_contiguous<MaxOf>(x, seen);
    for (std::int64_t i = 0; i < seen; ++i) y[i] = math::exp(x[i] - m);
    const A scale = A(1) / fold_contiguous<SumOf>(static_cast<const A*>(y), seen);
    for (std::int64_t i = 0; i < seen; ++i) y[i] *= scale;
    const A hidden = math::exp(MaxOf::identity<A>() - m) * scale;  // 0, or nan as all of the row
    std::fill(y + seen, y + job.size, hidden);
    rows.finish(r);
  }
}

template <class E>
void log_softmax(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job, MaxOf::identity<A>());
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict x = rows.in(0, r);
    A* __restrict y = rows.out(r);
    const A m = fold_contiguous<MaxOf>(x, n);
    for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - m);
    const A log_s = math::log(fold_contiguous<SumOf>(static_cast<const A*>(y), n));
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_s;
    rows.finish(r);
  }
}

template <class E>
void softmax_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict g = rows.in(0, r);
    const A* __restrict y = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const A dot = fold_made<SumOf, A>(n, [&](std::int64_t at, std::int64_t count, A* to) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = g[at + i] * y[at + i];
    });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = (g[i] - dot) * y[i];
    rows.finish(r);
  }
}

template <class E>
void log_softmax_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict g = rows.in(0, r);
    const A* __restrict y = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const A total = fold_contiguous<SumOf>(g, n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = g[i] - math::exp(y[i]) * total;
    rows.finish(r);
  }
}

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
    const RowStats<A> stats = row_stats<Centered>(x, job.size, job.epsilon);
    normalize(x, stats.mean, stats.rstd, rows.column(0), rows.column(1), rows.count(), rows.out(r));
    rows.finish(r);
  }
}

// With xhat = (x - mean) * rstd and h(i) = gradient * weight:
// dx = (h - mean(h) - xhat * mean(h * xhat)) * rstd, where mean(h) is left out of rms_norm.
template <bool Centered, class A, class H>
void norm_row_backward(const H& h, const A* __restrict x, const RowStats<A>& stats, std::int64_t n,
                       std::int64_t padded, A* __restrict dx) {
  const A mean = stats.mean, rstd = stats.rstd;
  const auto sums = fold_two_made<SumOf, A>(n, [&](std::int64_t at, std::int64_t some, A* to, A* products) {
    for (std::int64_t i = 0; i < some; ++i) {
      const A each = h(at + i);
      to[i] = each;
      products[i] = each * ((x[at + i] - mean) * rstd);
    }
  });
  const A mean_h = Centered ? sums[0] / static_cast<A>(n) : A(0), mean_hx = sums[1] / static_cast<A>(n);
  for (std::int64_t i = 0; i < padded; ++i) dx[i] = (h(i) - mean_h - (x[i] - mean) * rstd * mean_hx) * rstd;
}

template <class E, bool Centered>
void norm_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  const std::int64_t n = job.size, padded = rows.count();
  const A* __restrict weight = rows.column(0);
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict g = rows.in(0, r);
    const A* __restrict x = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const auto stats = row_stats<Centered>(x, n, job.epsilon);
    if (weight) {
      norm_row_backward<Centered>([=](std::int64_t i) { return g[i] * weight[i]; }, x, stats, n, padded, dx);
    } else {
      norm_row_backward<Centered>([=](std::int64_t i) { return g[i]; }, x, stats, n, padded, dx);
    }
    rows.set_row(0, r, stats.mean);
    rows.set_row(1, r, stats.rstd);
    rows.finish(r);
  }
}

// Row r of a tile: gradient * xhat of its columns, then their gradient.
template <class E>
class NormTile {
 public:
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
    for (std::int64_t i = 0; i < width_; i += kLine) __builtin_prefetch(row + kRows * job_.size + i);
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

template <class E>
void fill(RowKernels& kernels, int dtype) {
  const RowKernel programs[kRowProgramCount] = {
      &softmax<E>,       &log_softmax<E>,         &softmax_backward<E>, &log_softmax_backward<E>,
      &norm<E, true>,    &norm_backward<E, true>, &norm<E, false>,      &norm_backward<E, false>,
      &causal_softmax<E>};
  for (int p = 0; p < kRowProgramCount; ++p) kernels.program[p][dtype] = programs[p];
  kernels.norm_columns[dtype] = &norm_columns<E>;
}

RowKernels build() {
  RowKernels kernels{};
  fill<Half>(kernels, 0);
  fill<BFloat16>(kernels, 1);
  fill<float>(kernels, 2);
  fill<double>(kernels, 3);
  return kernels;
}

}  // namespace

const RowKernels& row_kernels() {
  static const RowKernels kernels = build();
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
