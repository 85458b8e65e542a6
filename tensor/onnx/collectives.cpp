// Collectives as they are in a world of one rank, which any runtime runs.
#include <fmt/format.h>

#include "tensor/functions.h"
#include "tensor/how_many.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

Tensor scaled(const Tensor& x, const Attrs& attrs) {
  const double scale = attrs.get<double>("prescale") * attrs.get<double>("postscale");
  return scale == 1 ? ops::clone(x) : ops::to(x * scale, x.dtype());
}

// Throws OpError (Value) where the graph is of several ranks, whose rows one rank has not.
void need_rows(const Tensor& x, const Attrs& attrs, std::string_view name) {
  const Dim rows = attrs.get<Dim>(name);
  if (rows == x.size(0)) return;
  throw OpError(ErrorKind::Value, fmt::format("{}: in a model it is that of one rank, which has {}, not {}",
                                              attrs.op()->name(), how_many(x.size(0), "row"), rows));
}

}  // namespace

Tensors reduced_alone(const Op&, Inputs inputs, const Attrs& attrs) {
  Tensors results;
  for (const Tensor& x : inputs) results.push_back(scaled(x, attrs));
  return results;
}

Tensors moved_alone(const Op&, Inputs inputs, const Attrs&) { return {ops::clone(inputs[0])}; }

Tensors extremal_alone(const Op&, Inputs inputs, const Attrs&) {
  return {ops::full(inputs[0].sizes(), Tensor::number(true), DType::Bool, inputs[0].device())};
}

Tensors allgather(const Op&, Inputs inputs, const Attrs& attrs) {
  need_rows(inputs[0], attrs, "total");
  return {ops::clone(inputs[0])};
}

Tensors reducescatter(const Op&, Inputs inputs, const Attrs& attrs) {
  need_rows(inputs[0], attrs, "rows");
  return {scaled(inputs[0], attrs)};
}

Tensors alltoall(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  need_rows(x, attrs, "total");
  const Dims one{1};
  const bool has_splits = inputs.size() > 1 && inputs[1];
  const Tensor counts = has_splits
                            ? ops::to(inputs[1], DType::I64)
                            : ops::full(one, Tensor::number(x.size(0).fixed()), DType::I64, x.device());
  return {ops::clone(x), counts};
}

}  // namespace kiln::onnx_rules
