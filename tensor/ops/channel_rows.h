// Owns what ops on channels (dimension 1) share: their shapes, and going through a few channels at a time, in
// cache.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/channels.h"
#include "tensor/cpu/fold.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"

namespace kiln::ops {

// Throws OpError unless x is a float [n, channels, ...].
void need_channels(const TensorType& x, const Attrs& attrs, int operand);
Dims all_but_channels(int rank);
// [channels] so that it broadcasts against x, in x's dtype.
Tensor per_channel(const Tensor& v, const Tensor& x);

// How the channels of a contiguous tensor are cut into blocks that threads take.
struct Channels {
  cpu::ChannelBlock all;
  std::int64_t per_block;

  explicit Channels(const Dims& sizes);
  template <class F>
  void each_block(F&& f) const {
    const std::int64_t blocks = (all.channels + per_block - 1) / per_block;
    const std::int64_t work = std::max<std::int64_t>(per_block * all.length(), 1);
    parallel_for(blocks, std::max<std::int64_t>(1, 32768 / work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        cpu::ChannelBlock block = all;
        block.first = i * per_block;
        block.count = std::min(per_block, all.channels - block.first);
        f(block);
      }
    });
  }
};

// The elements of a block of channels, of float or double, together in memory.
template <class T>
struct Tile {
  Tensor tensor;
  T* data;
  bool by_columns;

  explicit Tile(const cpu::ChannelBlock& block)
      : tensor(Tensor::empty(
            block.by_columns() ? Dims{block.outer, block.count} : Dims{block.count, block.length()},
            std::is_same_v<T, double> ? DType::F64 : DType::F32)),
        data(tensor.template writable<T>()),
        by_columns(block.by_columns()) {}
  Tile(const cpu::ChannelBlock& block, const T* from) : Tile(block) {
    cpu::each_run(block, [&](std::int64_t at, std::int64_t place, std::int64_t, std::int64_t length, auto) {
      std::copy_n(from + at, length, data + place);
    });
  }
  // Writes the sum of each channel, in the fixed order and divided, to `to`.
  void sums(T divisor, T* to, cpu::Map map = cpu::Map::Identity, const Tensor& centers = {}) const {
    const Tensor totals = cpu::fold(tensor, Dims{by_columns ? 0 : 1}, cpu::Combine::Sum, map, centers);
    for (std::int64_t c = 0; c < totals.numel(); ++c) to[c] = totals.data<T>()[c] / divisor;
  }
};

}  // namespace kiln::ops
