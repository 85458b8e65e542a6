// Products of matrices.
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {

OnnxValues matmul(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  return {app.node("MatMul", {app.input(0, dtype), app.input(1, dtype)})};
}

// Of rows it is Gemm, whose bias may be left out.
OnnxValues linear(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const OnnxValue x = app.input(0, dtype), weight = app.input(1, dtype);
  const OnnxValue bias = app.has(2) ? app.input(2, dtype) : OnnxValue{};
  if (app.rank(0) == 2 && app.rank(1) == 2)
    return {app.node("Gemm", {x, weight, bias}, {{"transB", std::int64_t{1}}})};
  const OnnxValue turned = app.rank(1) == 2 ? app.transpose(weight, {1, 0}) : weight;
  const OnnxValue product = app.node("MatMul", {x, turned});
  return {app.has(2) ? app.node("Add", {product, bias}) : product};
}

OnnxValues einsum(const OnnxApplication& app) {
  OnnxValues operands;
  for (std::size_t i = 0; i < app.inputs.size(); ++i) operands.push_back(app.input(i, app.result().dtype));
  return {app.node("Einsum", operands, {{"equation", app.attrs.get<std::string>("equation")}})};
}

}  // namespace kiln::onnx_rules
