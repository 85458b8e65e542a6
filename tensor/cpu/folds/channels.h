// Owns going through some channels of a contiguous [outer, channels, inner].
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/folds/channel_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// Channels [first, first + count). Copied together they are a tile [count, outer * inner].
struct ChannelBlock {
  std::int64_t outer = 0, channels = 0, inner = 0;
  std::int64_t first = 0, count = 0;
  std::int64_t length() const { return outer * inner; }  // of one channel
};

// Calls f(run, place in the tensor, place in the tile, channel of the block) for every run of neighbours, on
// any number of threads. Where `inner` is 1 the block has all channels, and there is no tile.
template <class F>
void each_run(const ChannelBlock& block, const F& f) {
  const bool along = block.inner == 1;
  const Run run{.count = along ? block.count : block.inner, .along = along};
  const std::int64_t work = std::max<std::int64_t>(block.count * block.inner, 1);
  parallel_for(block.outer, std::max<std::int64_t>(1, 32768 / work),
               [&](std::int64_t begin, std::int64_t end) {
                 if (along) {
                   Run several = run;
                   several.rows = end - begin;
                   return f(several, begin * block.channels, std::int64_t{0}, std::int64_t{0});
                 }
                 for (std::int64_t n = begin; n < end; ++n) {
                   const std::int64_t from = (n * block.channels + block.first) * block.inner;
                   for (std::int64_t c = 0; c < block.count; ++c) {
                     check_interrupt();
                     f(run, from + c * block.inner, c * block.length() + n * block.inner, c);
                   }
                 }
               });
}

}  // namespace kiln::cpu
