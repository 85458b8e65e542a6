#include "tensor/cuda/operands.h"

#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::cuda {

Tensor in_order(const Tensor& x) { return x.is_contiguous() ? x : ops::clone(x); }

Tensor scratch(std::int64_t bytes, Device device) {
  return Tensor::empty(Dims{ceil_divide(bytes, std::int64_t{8})}, DType::I64, device);
}

}  // namespace kiln::cuda
