// Owns running extrema: the greatest or least element so far along a dimension, and where it is.
#include "tensor/onnx/rules.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

// ---- Rules -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer_running(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType& x = in[0];
  wrap_dim(attrs.get<std::int64_t>("dim"), static_cast<int>(x.sizes.size()), attrs.op()->name());
  return {{x.dtype, x.device, x.sizes, false}, {DType::I64, x.device, x.sizes, false}};
}

// The gradient of the values goes to where they came from.
Tensors running_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  if (x.sizes.empty()) return {args.grads[0]};
  const int rank = static_cast<int>(x.sizes.size());
  const int dim = wrap_dim(args.attrs.get<std::int64_t>("dim"), rank, args.attrs.op()->name());
  return {ops::scatter_add(ops::zeros(x.sizes, x.dtype, x.device), dim, args.outputs[1], args.grads[0])};
}

Tensors running_jvp(const JvpArgs& args) {
  const Tensor& tangent = args.tangents[0];
  if (tangent.rank() == 0) return {tangent, Tensor()};
  const int dim = wrap_dim(args.attrs.get<std::int64_t>("dim"), tangent.rank(), args.attrs.op()->name());
  return {ops::gather(tangent, dim, args.outputs[1]), Tensor()};
}

void add(OpTable& table, std::string_view signature, std::string_view documentation,
         std::string_view example) {
  table.add({
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_running,
      .vjp = running_vjp,
      .jvp = running_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(1),
      .lowering = Lowering::Library,
      .outputs = 2,
      .onnx = onnx_rules::cumulative_extremum,
  });
}

}  // namespace

void add_running_extremum_ops(OpTable& table) {
  add(table, "cummax(x: tensor, dim: index) -> (values, indices)",
      "The greatest element so far along `dim` and the index of the last such, as a tuple; from a nan on "
      "they are nan.",
      ">>> cummax(tensor([1, 3, 2, 3]), 0)\n(tensor([1, 3, 3, 3]), tensor([0, 1, 1, 3]))");
  add(table, "cummin(x: tensor, dim: index) -> (values, indices)",
      "The least element so far along `dim` and the index of the last such, as a tuple; from a nan on "
      "they are nan.",
      ">>> cummin(tensor([3, 1, 2, 1]), 0)\n(tensor([3, 1, 1, 1]), tensor([0, 1, 1, 3]))");
}

}  // namespace kiln
