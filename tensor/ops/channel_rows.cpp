#include "tensor/ops/channel_rows.h"

namespace kiln::ops {

void need_channels(const TensorType& x, const Attrs& attrs, int operand) {
  need_float(x, attrs);
  if (x.sizes.size() >= 2) return;
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": " + to_string(x) + " has no dimension of channels",
                {operand}, "give [n, channels, ...]");
}

void check_per_channel(const TensorType& v, const TensorType& x, const Attrs& attrs, int operand,
                       const char* what) {
  if (v.is_number || v.sizes == Dims{x.sizes[1]}) return;  // a number: absent
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": the " + what + " is " + to_string(v) +
                    " and needs shape " + to_string(Dims{x.sizes[1]}),
                {operand}, std::string("give one ") + what + " per channel");
}

Dims all_but_channels(int rank) {
  Dims dims{0};
  for (int d = 2; d < rank; ++d) dims.push_back(d);
  return dims;
}

Tensor per_channel(const Tensor& v, const Tensor& x) {
  Dims sizes(static_cast<std::size_t>(x.rank()), 1);
  sizes[1] = x.size(1);
  return reshape(to(v, x.dtype()), sizes);
}

Channels::Channels(const Dims& sizes) {
  all.outer = sizes[0];
  all.channels = sizes[1];
  all.inner = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) all.inner *= sizes[d];
  all.count = all.channels;
  // Stretches of memory long enough to be read at full speed.
  per_block = std::max<std::int64_t>(64 / std::max<std::int64_t>(all.inner, 1), 1);
  if (all.inner == 1 || all.channels < 4 * num_threads()) per_block = all.channels;
}

Tensor channels_of(const Tensor& x, const cpu::ChannelBlock& block) {
  const Dims sizes{block.outer, block.count, block.inner};
  const Dims strides{block.channels * block.inner, block.inner, 1};
  return Tensor::alias(x, {sizes, strides, x.offset() + block.first * block.inner});
}

}  // namespace kiln::ops
