// Kernels of the rows that multiply matrices on cards.
#include <algorithm>

#include "tensor/compute.h"
#include "tensor/cuda/cublaslt_product.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/product_kernel.h"
#include "tensor/ops/products.h"
#include "tensor/product_mode.h"

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

bool goes_to_library(const Tensor& result, const Tensor& x, const Tensor& y, const Tensor& bias) {
  const ProductMode mode = product_mode();
  return mode != ProductMode::Exact && multiply_by_library(result, x, y, bias, mode == ProductMode::Tf32);
}

// Without a bias, which is added to what the product was rounded to.
void multiply(const Tensor& result, const Tensor& x, const Tensor& y) {
  if (multiplies_pairs(x.sizes(), y.sizes())) return compute_pairs(kRow_mul, result, x, y);
  if (!goes_to_library(result, x, y, {})) multiply_in_order(result, x, y);
}

// One element for each of a row of the result, which cublasLt adds before it rounds.
bool is_row(const Tensor& bias, const Tensor& result) {
  return result.rank() > 0 && bias.rank() > 0 &&
         bias.size(bias.rank() - 1) == result.size(result.rank() - 1) &&
         bias.numel() == bias.size(bias.rank() - 1);
}

void product(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  multiply(outputs[0], inputs[0], inputs[1]);
}

// The weight is the right matrix, transposed.
void linear(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &result = outputs[0], &x = inputs[0];
  Layout transposed = inputs[1].layout();
  std::reverse(transposed.sizes.begin(), transposed.sizes.end());
  std::reverse(transposed.strides.begin(), transposed.strides.end());
  const Tensor weight = Tensor::alias(inputs[1], transposed);
  if (inputs.size() < 3 || !inputs[2]) return multiply(result, x, weight);
  const Tensor& bias = inputs[2];
  check_bias(bias, result.type());
  if (is_row(bias, result) && !multiplies_pairs(x.sizes(), weight.sizes()) &&
      goes_to_library(result, x, weight, bias))
    return;
  multiply(result, x, weight);
  compute_pairs(kRow_add, result, result, bias);
}

}  // namespace

void add_product_kernels(Kernels& kernels) {
  for (const char* const name : {"matmul", "mm", "bmm", "mv", "dot"}) kernels.add(name, product);
  kernels.add("linear", linear);
}

}  // namespace kiln::cuda
