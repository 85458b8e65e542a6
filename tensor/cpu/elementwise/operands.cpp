#include "tensor/cpu/elementwise/operands.h"

#include "tensor/cpu/elementwise/copy.h"

namespace kiln::cpu {

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor result = Tensor::empty(x.sizes(), dtype, x.device());
  copy(result, x);
  return result;
}

Tensor dense(const Tensor& x, DType dtype) {
  return x.is_contiguous() && x.dtype() == dtype ? x : contiguous_copy(x, dtype);
}

Tensor with_sizes(const Tensor& x, const IntDims& sizes) {
  if (x.sizes() == sizes) return x;
  return Tensor::alias(x, {sizes, contiguous_strides(sizes), x.offset()});
}

Tensor computed_in(const Tensor& output, DType dtype) {
  return output.dtype() == dtype ? output : Tensor::empty(output.sizes(), dtype, output.device());
}

void finish(const Tensor& output, const Tensor& computed) {
  if (!computed.is_same(output)) copy(output, computed);
}

void compute_by_body(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs) {
  const Tensors results = op.decompose(op, inputs, attrs);
  for (std::size_t k = 0; k < outputs.size(); ++k) copy(outputs[k], results[k]);
}

bool is_inplace(const Tensor& output, const Tensor& input) {
  return output.storage() == input.storage() && output.layout() == input.layout();
}

Tensor away_from(const Tensor& source, const Tensor& output) {
  return shares_storage(source, output) ? contiguous_copy(source, source.dtype()) : source;
}

}  // namespace kiln::cpu
