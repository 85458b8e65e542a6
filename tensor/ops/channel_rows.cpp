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

}  // namespace kiln::ops
