#include "tensor/ops/channel_rows.h"

namespace kiln::ops {

void need_channels(const TensorType& x, const Attrs& attrs, int operand) {
  need_float(x, attrs);
  if (x.sizes.size() >= 2) return;
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": " + to_string(x) + " has no dimension of channels",
                {operand}, "give [n, channels, ...]");
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
  // Stretches of memory long enough to be read at full speed, in tiles that stay in cache.
  const std::int64_t fitting = (1 << 17) / std::max<std::int64_t>(all.outer, 1);
  per_block = std::max<std::int64_t>(
      std::clamp<std::int64_t>(fitting, 16, 64) / std::max<std::int64_t>(all.inner, 1), 1);
}

}  // namespace kiln::ops
