// Owns bringing some channels of [outer, channels, inner] together in cache, and going through them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kiln::cpu {

// Channels [first, first + count) of a contiguous [outer, channels, inner]. Together they are a tile: [outer,
// count] when a channel's elements lie apart (inner is 1), else [count, outer * inner].
struct ChannelBlock {
  std::int64_t outer = 0, channels = 0, inner = 0;
  std::int64_t first = 0, count = 0;
  std::int64_t length() const { return outer * inner; }  // of one channel
  bool by_columns() const { return inner == 1; }
};

// Calls f(place in the tensor, place in the tile, channel of the block, length, step) for every run of
// elements that are neighbours in both; `step`, 0 or 1 as a type, is by how much the channel grows from one
// to the next.
template <class F>
void each_run(const ChannelBlock& block, F&& f) {
  using One = std::integral_constant<std::int64_t, 1>;
  using None = std::integral_constant<std::int64_t, 0>;
  for (std::int64_t n = 0; n < block.outer; ++n) {
    const std::int64_t from = (n * block.channels + block.first) * block.inner;
    if (block.by_columns()) {
      f(from, n * block.count, std::int64_t{0}, block.count, One{});
      continue;
    }
    for (std::int64_t c = 0; c < block.count; ++c)
      f(from + c * block.inner, c * block.length() + n * block.inner, c, block.inner, None{});
  }
}

}  // namespace kiln::cpu
