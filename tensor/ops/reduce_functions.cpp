// Owns the C++ names of the reduce family.
#include "tensor/ops/reduced.h"

namespace kiln::ops {
namespace {

Dims listed(Ints dims) { return Dims(dims.begin(), dims.end()); }

Tensor reduce(const Op& op, const Tensor& x, Ints dims, bool keepdim) {
  return apply(op, {&x, 1}, {{"dim", listed(dims)}, {"keepdim", keepdim}})[0];
}
Tensor along(const Op& op, const Tensor& x, int dim) {
  return apply(op, {&x, 1}, {{"dim", std::int64_t{dim}}})[0];
}

}  // namespace

Tensor sum(const Tensor& x, Ints dims, bool keepdim) {
  static const Op& op = OpTable::get().at("sum");
  return reduce(op, x, dims, keepdim);
}
Tensor mean(const Tensor& x, Ints dims, bool keepdim) {
  static const Op& op = OpTable::get().at("mean");
  return reduce(op, x, dims, keepdim);
}
Tensor prod(const Tensor& x) {
  static const Op& op = OpTable::get().at("prod");
  return reduce(op, x, {}, false);
}
Tensor amax(const Tensor& x, Ints dims, bool keepdim) {
  static const Op& op = OpTable::get().at("amax");
  return reduce(op, x, dims, keepdim);
}
Tensor amin(const Tensor& x, Ints dims, bool keepdim) {
  static const Op& op = OpTable::get().at("amin");
  return reduce(op, x, dims, keepdim);
}
Tensor any(const Tensor& x) {
  static const Op& op = OpTable::get().at("any");
  return reduce(op, x, {}, false);
}
Tensor all(const Tensor& x) {
  static const Op& op = OpTable::get().at("all");
  return reduce(op, x, {}, false);
}
Tensor logsumexp(const Tensor& x, Ints dims, bool keepdim) {
  static const Op& op = OpTable::get().at("logsumexp");
  return reduce(op, x, dims, keepdim);
}
Tensor softmax(const Tensor& x, int dim) {
  static const Op& op = OpTable::get().at("softmax");
  return along(op, x, dim);
}
Tensor log_softmax(const Tensor& x, int dim) {
  static const Op& op = OpTable::get().at("log_softmax");
  return along(op, x, dim);
}
Tensor cumsum(const Tensor& x, int dim) {
  static const Op& op = OpTable::get().at("cumsum");
  return along(op, x, dim);
}
Tensor cumprod(const Tensor& x, int dim) {
  static const Op& op = OpTable::get().at("cumprod");
  return along(op, x, dim);
}

Tensor sum_to(const Tensor& x, Ints sizes) {
  const auto added = static_cast<std::size_t>(x.rank()) - sizes.size();
  Dims dims;
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    if (d < added || (sizes[d - added] == 1 && x.sizes()[d] != 1)) dims.push_back(static_cast<Dim>(d));
  }
  if (dims.empty()) return x;
  return reshape(sum(x, dims, true), sizes);
}

}  // namespace kiln::ops
