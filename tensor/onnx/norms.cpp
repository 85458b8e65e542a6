// Normalizations by ONNX's operators, which compute in f32: those of f64 are written by their bodies.
#include "tensor/functions.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

// Operand `i`, which the operator needs: the number everywhere, where the op has none.
OnnxValue with_default(const OnnxApplication& app, std::size_t i, std::span<const Dim> sizes, double number) {
  const DType dtype = app.result().dtype;
  if (app.has(i)) return app.input(i, dtype);
  return app.expand(app.scalar(number, dtype), sizes);
}

OnnxValues normalized(const OnnxApplication& app, std::string_view type, std::span<const Dim> sizes,
                      OnnxAttrs attributes) {
  attributes.emplace_back("epsilon", app.attrs.get<double>("eps"));
  return {app.node(type, {app.input(0), with_default(app, 1, sizes, 1), with_default(app, 2, sizes, 0)},
                   std::move(attributes))};
}

}  // namespace

OnnxValues layer_norm(const OnnxApplication& app) {
  if (app.opset() < 17 || app.result().dtype == DType::F64) return {};
  const Dims& sizes = app.attrs.get<Dims>("normalized_shape");
  return normalized(app, "LayerNormalization", sizes, {{"axis", -static_cast<std::int64_t>(sizes.size())}});
}

OnnxValues group_norm(const OnnxApplication& app) {
  if (app.opset() < 21 || app.result().dtype == DType::F64 || app.rank(0) < 3) return {};
  const Dim channels = app.input_types[0].sizes[1];
  return normalized(app, "GroupNormalization", std::span(&channels, 1),
                    {{"num_groups", app.attrs.get<std::int64_t>("num_groups")}});
}

}  // namespace kiln::onnx_rules
