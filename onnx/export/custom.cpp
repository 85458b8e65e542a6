#include "onnx/export/custom.h"

#include "jit/graph/with_sizes.h"
#include "onnx/export/python_op.h"

namespace kiln::onnx {
namespace {

// What the symbols of the bodies stand for in the application, in order.
Dims sizes_of(const jit::Node& node) {
  return node.attrs.empty() ? Dims() : std::get<Dims>(node.attr("sizes"));
}

// The forward body in sizes of the graph around it.
jit::Graph body_of(const jit::CustomFunction& function, const jit::Node& node) {
  const Dims sizes = sizes_of(node);
  const std::vector<std::string> symbols = function.symbols();
  SymbolSizes by_symbol;
  for (std::size_t k = 0; k < sizes.size(); ++k) by_symbol.emplace(symbols[k], sizes[k]);
  return by_symbol.empty() ? function.forward : jit::with_sizes(function.forward, by_symbol);
}

// One local function for equal applications.
const LocalFunction& local_function(ModelWriter& model, const jit::CustomFunction& function,
                                    const jit::Node& node) {
  std::string sizes;
  for (const Dim& each : sizes_of(node)) sizes += each.text() + ",";
  const auto [at, is_new] = model.custom_functions.try_emplace({node.op, sizes});
  if (is_new)
    at->second = model.add_function(kCustomDomain, std::string(node.op->name()), body_of(function, node));
  return at->second;
}

}  // namespace

OnnxValues write_custom(Scope& scope, const jit::CustomFunction& function, const jit::Graph& graph,
                        const jit::Node& node, const OnnxValues& operands) {
  const CustomForm form = scope.model().options().custom;
  if (form == CustomForm::Refuse)
    throw OpError(ErrorKind::Value, function.program_name +
                                        " has a derivative of its own, and custom=\"refuse\" "
                                        "says that no such function is exported");
  if (form == CustomForm::PythonOp) return write_python_op(scope, function, graph, node, operands);
  if (jit::is_interpreted(function))
    throw OpError(ErrorKind::Capture,
                  "only the interpreter has the " + std::string(function.backward_of ? "backward " : "") +
                      "body of " + function.program_name + ", which reads elements" +
                      (function.backward_of ? " or what may change before it runs" : ""),
                  {}, "export with custom=\"python_op\"");
  if (form == CustomForm::Inline) return scope.write(body_of(function, node), operands).outputs;
  std::vector<TensorType> types;
  for (const jit::ValueId id : node.outputs) {
    const jit::Type& type = graph.values[static_cast<std::size_t>(id)].type;
    types.push_back({type.dtype, type.device, type.sizes, type.is_number});
  }
  return scope.model().call(scope, local_function(scope.model(), function, node), operands, types);
}

}  // namespace kiln::onnx
