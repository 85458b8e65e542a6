// Products of matrices.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values matmul(Call& call) { return {ops::matmul(call.x(0), call.x(1))}; }

Values gemm(Call& call) {
  Tensor a = call.x(0);
  Tensor b = call.x(1);
  if (call.integer("transA", 0) != 0) a = ops::transpose(a, 0, 1);
  if (call.integer("transB", 0) != 0) b = ops::transpose(b, 0, 1);
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  Tensor product = ops::matmul(a, b);
  if (alpha != 1) product = ops::to(product * alpha, a.dtype());
  if (!call.has(2) || beta == 0) return {product};
  const Tensor c = call.x(2);
  return {ops::add(product, beta == 1 ? c : ops::to(c * beta, c.dtype()))};
}

Values einsum(Call& call) {
  return {apply_all("einsum", call.tensors(), {{"equation", call.word("equation", "")}})[0]};
}

Values determinant(Call& call) { return {apply("det", {call.x(0)})}; }

Values fused_matmul(Call& call) {
  Tensor a = call.x(0);
  Tensor b = call.x(1);
  if (call.integer("transA", 0) != 0) a = ops::transpose(a, -2, -1);
  if (call.integer("transB", 0) != 0) b = ops::transpose(b, -2, -1);
  const double alpha = call.real("alpha", 1);
  const Tensor product = ops::matmul(a, b);
  return {alpha == 1 ? product : product * alpha};
}

// Products of whole numbers, from zero points on, as i32.
Values matmul_integer(Call& call) {
  const auto shifted = [&](std::size_t i, bool is_left) {
    const Tensor x = ops::to(call.x(i), DType::I32);
    if (!call.has(i + 2)) return x;
    Tensor zero = ops::to(call.x(i + 2), DType::I32);
    if (zero.rank() == 1 && is_left) zero = ops::unsqueeze(zero, 1);
    return ops::sub(x, zero);
  };
  return {ops::to(ops::matmul(shifted(0, true), shifted(1, false)), DType::I32)};
}

constexpr Operator kProductOperators[] = {
    {"Det", determinant}, {"Einsum", einsum}, {"FusedMatMul", fused_matmul, "com.microsoft"},
    {"Gemm", gemm},       {"MatMul", matmul}, {"MatMulInteger", matmul_integer},
};

}  // namespace

std::span<const Operator> product_operators() { return kProductOperators; }

}  // namespace kiln::onnx
