#include "tensor/cpu/folds/channel_sums.h"

namespace kiln::cpu {

Channels::Channels(const IntDims& sizes) {
  all.outer = sizes[0];
  all.channels = sizes[1];
  all.inner = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) all.inner *= sizes[d];
  all.count = all.channels;
  // Stretches of memory long enough to be read at full speed.
  per_block = std::max<std::int64_t>(64 / std::max<std::int64_t>(all.inner, 1), 1);
  if (all.inner == 1 || all.channels < 4 * num_threads()) per_block = all.channels;
}

Tensor channels_of(const Tensor& x, const ChannelBlock& block) {
  const IntDims sizes{block.outer, block.count, block.inner};
  const IntDims strides{block.channels * block.inner, block.inner, 1};
  return Tensor::alias(x, {sizes, strides, x.offset() + block.first * block.inner});
}

}  // namespace kiln::cpu
