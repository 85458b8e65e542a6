// Owns going through a few channels (dimension 1) at a time, in cache, and their sums in the fixed order.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/folds/channels.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/cpu/folds/rows.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// How the channels of a contiguous tensor are cut into blocks that threads take: those that lie together in
// memory, so that they stay in cache. Channels that lie side by side, or are few, are one block, which
// threads share.
struct Channels {
  ChannelBlock all;
  std::int64_t per_block;

  explicit Channels(const IntDims& sizes);
  template <class F>
  void each_block(F&& f) const {
    if (per_block >= all.channels) return f(all);
    const std::int64_t blocks = ceil_divide(all.channels, per_block);
    const std::int64_t work = std::max<std::int64_t>(per_block * all.length(), 1);
    parallel_for(blocks, std::max<std::int64_t>(1, 32768 / work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        ChannelBlock block = all;
        block.first = i * per_block;
        block.count = std::min(per_block, all.channels - block.first);
        f(block);
      }
    });
  }
};

// A block's channels of a contiguous tensor, [outer, count, inner]; no copy.
Tensor channels_of(const Tensor& x, const ChannelBlock& block);

// Writes the sum of each channel of a block, in the fixed order and divided, to `to`.
template <class T>
void sums_of(const Tensor& x, const ChannelBlock& block, T divisor, T* to, Map map = Map::Identity,
             const Tensor& centers = {}) {
  const Tensor totals = fold(channels_of(x, block), IntDims{0, 2}, Combine::Sum, map, centers);
  for (std::int64_t c = 0; c < totals.numel(); ++c) to[c] = totals.data<T>()[c] / divisor;
}

// The sum over each channel of products that `make(run, place in the tensor, to, channel of the block)`
// computes, in the fixed order. The channels are made of runs longer than 1.
template <class T, class Make>
void sums_of_made(const ChannelBlock& block, T* to, const Make& make) {
  const IntDims sizes{block.count, block.length()};
  const Tensor tile = Tensor::empty(sizes, std::is_same_v<T, double> ? DType::F64 : DType::F32, Device{});
  T* made = tile.template writable<T>();
  each_run(block, [&](const Run& run, std::int64_t at, std::int64_t place, std::int64_t c) {
    make(run, at, made + place, c);
  });
  const Tensor totals = fold(tile, IntDims{1}, Combine::Sum);
  std::copy_n(totals.template data<T>(), block.count, to);
}

// The sums over all rows of g * ((x - mean) * rstd), and of g, for channels without inner dimensions.
template <class T>
void column_sums_of(const Tensor& g, const Tensor& x, const T* mean, const T* rstd, T* products, T* totals) {
  NormColumnsJob job;
  job.rows = x.size(0);
  job.size = x.size(1);
  job.gradient = g.raw();
  job.x = x.raw();
  job.mean = reinterpret_cast<const std::byte*>(mean);
  job.rstd = reinterpret_cast<const std::byte*>(rstd);
  job.statistics_of_columns = true;
  const Tensor sums = column_sums(job, x.dtype());
  std::copy_n(sums.template data<T>(), job.size, products);
  std::copy_n(sums.template data<T>() + job.size, job.size, totals);
}

}  // namespace kiln::cpu
