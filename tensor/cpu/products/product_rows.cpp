// Kernels of the rows that multiply matrices.
#include <algorithm>
#include <array>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/products/matmul.h"

namespace kiln::cpu {
namespace {

void product(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  matmul(outputs[0], inputs[0], inputs[1]);
}

// The weight of `linear` as the right matrix.
Tensor right_matrix(const Tensor& weight) {
  Layout transposed = weight.layout();
  std::reverse(transposed.sizes.begin(), transposed.sizes.end());
  std::reverse(transposed.strides.begin(), transposed.strides.end());
  return Tensor::alias(weight, transposed);
}

void linear(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const bool has_bias = inputs.size() > 2 && inputs[2];
  if (has_bias) check_bias(inputs[2], outputs[0].type());
  matmul(outputs[0], inputs[0], right_matrix(inputs[1]));
  if (has_bias) add_bias(outputs[0], inputs[2]);
}

// ---- In pieces -------------------------------------------------------------------------------------------

// The memory of a product, which its pieces are parts of.
Tensor result_of(const Op& op, Inputs inputs, const Attrs& attrs) {
  const TensorType type = op.infer(std::array{inputs[0].type(), inputs[1].type()}, attrs)[0];
  return Tensor::empty(type.sizes, type.dtype, type.device);
}

void product_in_pieces(const Op& op, Inputs inputs, const Attrs& attrs, ResultPieces& pieces) {
  matmul(result_of(op, inputs, attrs), inputs[0], inputs[1], &pieces);
}

void linear_in_pieces(const Op& op, Inputs inputs, const Attrs& attrs, ResultPieces& pieces) {
  const Tensor right = right_matrix(inputs[1]), result = result_of(op, inputs, attrs);
  if (inputs.size() < 3 || !inputs[2]) return matmul(result, inputs[0], right, &pieces);
  check_bias(inputs[2], result.type());
  BiasPieces with_bias(inputs[2], pieces);
  matmul(result, inputs[0], right, &with_bias);
}

}  // namespace

void add_product_kernels(Column& column) {
  for (const char* const name : {"matmul", "mm", "bmm", "mv", "dot"}) {
    column.add(name, product);
    column.add_pieces(name, product_in_pieces);
  }
  column.add("linear", linear);
  column.add_pieces("linear", linear_in_pieces);
}

}  // namespace kiln::cpu
