// Owns the kernels of channels, compiled once per instruction set. Each computes, to the bit, what the
// composition of the op it serves does.
#include <memory>

#include "tensor/cpu/folds/channel_kernels.h"
#include "tensor/cpu/isa/row_stats.h"

namespace kiln::cpu::KILN_ISA {
namespace {

using One = std::integral_constant<std::int64_t, 1>;
using None = std::integral_constant<std::int64_t, 0>;

// Calls make(first, to, step) for the rows of a run, each from element `first` on. `step`, 0 or 1 as a type,
// is how the channel grows along the run.
template <class T, class Make>
void each_row(const Run& run, T* to, const Make& make) {
  const auto go = [&](auto step) {
    for (std::int64_t at = 0; at < run.rows * run.count; at += run.count) make(at, to + at, step);
  };
  run.along ? go(One{}) : go(None{});
}

template <class T>
void normalize(const Run& run, const Normalization<T>& by, const T* x, T* to) {
  each_row(run, to, [&](std::int64_t first, T* __restrict y, auto step) {
    const T* __restrict in = x + first;
    const T* __restrict m = by.mean, * __restrict r = by.rstd;
    const T* __restrict f = by.factor;
    if (by.term == nullptr) {
      for (std::int64_t i = 0; i < run.count; ++i) y[i] = (in[i] - m[i * step]) * r[i * step] * f[i * step];
      return;
    }
    const T* __restrict t = by.term;
    for (std::int64_t i = 0; i < run.count; ++i)
      y[i] = (in[i] - m[i * step]) * r[i * step] * f[i * step] + t[i * step];
  });
}

template <class T>
void products(const Run& run, const Normalization<T>& by, const T* g, const T* x, T* to) {
  each_row(run, to, [&](std::int64_t first, T* __restrict y, auto step) {
    const T* __restrict up = g + first, * __restrict in = x + first;
    const T* __restrict m = by.mean, * __restrict r = by.rstd;
    for (std::int64_t i = 0; i < run.count; ++i) y[i] = up[i] * ((in[i] - m[i * step]) * r[i * step]);
  });
}

template <class T>
void gradient(const Run& run, const NormalizationGradient<T>& by, const T* g, const T* x, T* to) {
  each_row(run, to, [&](std::int64_t first, T* __restrict y, auto step) {
    const T* __restrict up = g + first, * __restrict in = x + first;
    const T* __restrict m = by.mean, * __restrict r = by.rstd;
    const T* __restrict low = by.flat, * __restrict far = by.apart;
    const T* __restrict s = by.slope;
    for (std::int64_t i = 0; i < run.count; ++i)
      y[i] = (up[i] - low[i * step] - (in[i] - m[i * step]) * r[i * step] * far[i * step]) * s[i * step];
    if (by.mean_share != nullptr) {
      const T* __restrict share = by.mean_share;
      for (std::int64_t i = 0; i < run.count; ++i) y[i] += share[i * step];
    }
    if (by.variance_share != nullptr) {
      const T* __restrict share = by.variance_share;
      for (std::int64_t i = 0; i < run.count; ++i) y[i] += (in[i] - m[i * step]) * share[i * step];
    }
  });
}

template <class T>
void affine(const Run& run, const T* factor, const T* term, const T* x, T* to) {
  each_row(run, to, [&](std::int64_t first, T* __restrict y, auto step) {
    const T* __restrict in = x + first, * __restrict f = factor;
    if (term == nullptr) {
      for (std::int64_t i = 0; i < run.count; ++i) y[i] = in[i] * f[i * step];
      return;
    }
    const T* __restrict t = term;
    for (std::int64_t i = 0; i < run.count; ++i) y[i] = in[i] * f[i * step] + t[i * step];
  });
}

template <class T>
void multiply(std::int64_t count, const T* a, const T* b, T* __restrict to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = a[i] * b[i];
}

// ---- group_norm: a row stays in cache between its passes -------------------------------------------------

template <class T>
struct GroupRow {
  std::int64_t width, size;     // channels and elements of a row
  std::int64_t channel, first;  // the first ones of this row, of all
  std::int64_t number;          // of the first channel among all [n, channels]
  RowStats<T> stats;

  GroupRow(const GroupNormJob<T>& job, std::int64_t row)
      : width(job.channels / job.groups),
        size(width * job.inner),
        channel(row % job.groups * width),
        first(row * size),
        number(row * width),
        stats(row_stats<true>(job.x + first, size, job.epsilon)) {}
};

template <class T>
void group_norm(const GroupNormJob<T>& job, std::int64_t begin, std::int64_t end) {
  const T one = 1;  // as a factor it changes no bit
  for (std::int64_t r = begin; r < end; ++r) {
    const GroupRow<T> row(job, r);
    for (std::int64_t c = 0; c < row.width; ++c) {
      const std::int64_t at = row.first + c * job.inner, channel = row.channel + c;
      normalize<T>({.count = job.inner},
                   {&row.stats.mean, &row.stats.rstd, job.weight ? job.weight + channel : &one,
                    job.bias ? job.bias + channel : nullptr},
                   job.x + at, job.out + at);
    }
  }
}

// With h = gradient * weight: dx = (h - mean(h) - xhat * mean(h * xhat)) * rstd, the means from the sums of
// the row's channels.
template <class T>
void group_norm_backward(const GroupNormJob<T>& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = job.channels / job.groups;
  const std::unique_ptr<T[]> scaled(new T[static_cast<std::size_t>(2 * width)]);
  T *products = scaled.get(), *totals = scaled.get() + width;
  for (std::int64_t r = begin; r < end; ++r) {
    const GroupRow<T> row(job, r);
    const T mean = row.stats.mean, rstd = row.stats.rstd;
    for (std::int64_t c = 0; c < width; ++c) {
      const T* __restrict g = job.gradient + row.first + c * job.inner;
      const T* __restrict x = job.x + row.first + c * job.inner;
      const T product = fold_made<SumOf, T>(
          job.inner, [=](const auto& read) { return read(g) * ((read(x) - mean) * rstd); });
      const T total = fold_contiguous<SumOf>(g, job.inner);
      job.products[row.number + c] = product;
      job.totals[row.number + c] = total;
      const T weight = job.weight ? job.weight[row.channel + c] : T(1);
      products[c] = product * weight;
      totals[c] = total * weight;
    }
    const auto size = static_cast<T>(row.size);
    const T mean_hx = fold_contiguous<SumOf>(static_cast<const T*>(products), width) / size;
    const T mean_h = fold_contiguous<SumOf>(static_cast<const T*>(totals), width) / size;
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t at = row.first + c * job.inner;
      const T weight = job.weight ? job.weight[row.channel + c] : T(1);
      T* __restrict y = job.out + at;
      const T* __restrict g = job.gradient + at;
      const T* __restrict x = job.x + at;
      for (std::int64_t i = 0; i < job.inner; ++i)
        y[i] = (g[i] * weight - mean_h - (x[i] - mean) * rstd * mean_hx) * rstd;
    }
  }
}

template <class T>
ChannelKernels<T> kernels_of() {
  return {&normalize<T>, &products<T>,   &gradient<T>,           &affine<T>,
          &multiply<T>,  &group_norm<T>, &group_norm_backward<T>};
}

}  // namespace

const AllChannelKernels& all_channel_kernels() {
  static const AllChannelKernels kernels{kernels_of<float>(), kernels_of<double>()};
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
