#include "onnx/export/custom.h"

namespace kiln::onnx {

OnnxValues write_custom(Scope& scope, const jit::CustomFunction& function, const jit::Graph& graph,
                        const jit::Node& node, const OnnxValues& operands) {
  if (jit::is_interpreted(function))
    throw OpError(ErrorKind::Capture,
                  "only the interpreter has the body of '" + std::string(node.op->name()) + "'");
  std::vector<TensorType> types;
  for (const jit::ValueId id : node.outputs) {
    const jit::Type& type = graph.values[static_cast<std::size_t>(id)].type;
    types.push_back({type.dtype, type.device, type.sizes, type.is_number});
  }
  if (scope.model().options().custom == CustomForm::Inline)
    return scope.write(function.forward, operands).outputs;
  const LocalFunction local =
      scope.model().add_function(kCustomDomain, std::string(node.op->name()), function.forward);
  return scope.model().call(scope, local, operands, types);
}

}  // namespace kiln::onnx
