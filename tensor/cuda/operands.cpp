#include "tensor/cuda/operands.h"

#include "tensor/cuda/context.h"
#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::cuda {

Tensor in_order(const Tensor& x) { return x.is_contiguous() ? x : ops::clone(x); }

Tensor scratch(std::int64_t bytes, Device device) {
  return Tensor::empty(Dims{ceil_divide(bytes, std::int64_t{8})}, DType::I64, device);
}

Tensor element_on_host(const Tensor& x, std::int64_t at) {
  Context& context = Context::of(x.device());
  const DriverApi& api = driver().api;
  Tensor copy = Tensor::empty(Dims{}, x.dtype(), Device{});
  const std::size_t item = size_of(x.dtype());
  const auto from = reinterpret_cast<Address>(x.raw() + static_cast<std::size_t>(at) * item);
  context.check("cuMemcpyDtoHAsync_v2",
                api.cuMemcpyDtoHAsync_v2(copy.raw_writable(), from, item, context.stream()));
  context.check("cuStreamSynchronize", api.cuStreamSynchronize(context.stream()));
  return copy;
}

}  // namespace kiln::cuda
