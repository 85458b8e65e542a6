// Kernels of the rows that multiply matrices on cards.
#include <algorithm>

#include "tensor/compute.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/product_kernel.h"
#include "tensor/ops/products.h"

namespace kiln::cuda {
namespace {

ElementwiseOperand spread(const Tensor& x, const Tensor& result) {
  return {.kind = ElementwiseOperand::Kind::Elements,
          .tensor = Tensor::alias(x, broadcast_layout(x.layout(), result.sizes()))};
}
// An elementwise row of two operands, broadcast; the result may be one of them.
void compute_pairs(int row, const Tensor& result, const Tensor& a, const Tensor& b) {
  run_elementwise({.body = row,
                   .compute = compute_of(result.dtype()),
                   .operands = {spread(a, result), spread(b, result)}},
                  result);
}

void multiply(const Tensor& result, const Tensor& x, const Tensor& y) {
  multiplies_pairs(x.sizes(), y.sizes()) ? compute_pairs(kRow_mul, result, x, y)
                                         : multiply_in_order(result, x, y);
}

void product(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  multiply(outputs[0], inputs[0], inputs[1]);
}

// The weight is the right matrix, transposed. A bias is added to what the product was rounded to.
void linear(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const bool has_bias = inputs.size() > 2 && inputs[2];
  if (has_bias) check_bias(inputs[2], outputs[0].type());
  Layout transposed = inputs[1].layout();
  std::reverse(transposed.sizes.begin(), transposed.sizes.end());
  std::reverse(transposed.strides.begin(), transposed.strides.end());
  multiply(outputs[0], inputs[0], Tensor::alias(inputs[1], transposed));
  if (has_bias) compute_pairs(kRow_add, outputs[0], outputs[0], inputs[2]);
}

}  // namespace

void add_product_kernels(Kernels& kernels) {
  for (const char* const name : {"matmul", "mm", "bmm", "mv", "dot"}) kernels.add(name, product);
  kernels.add("linear", linear);
}

}  // namespace kiln::cuda
