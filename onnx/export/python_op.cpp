#include "onnx/export/python_op.h"

#include <utility>

#include "onnx/export/constant_text.h"
#include "onnx/export/python_op_arguments.h"
#include "onnx/export/python_op_hooks.h"
#include "onnx/export/tensors.h"

namespace kiln::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

const jit::ProgramCall& call_of(const jit::CustomFunction& function) {
  if (function.program_call) return *function.program_call;
  throw OpError(ErrorKind::Capture, function.name +
                                        " was read from text, which does not tell the arguments of its "
                                        "function: export it with custom=\"function\"");
}

// ---- Tensors ----

struct Types {
  Ints codes, ranks;
  void add(const jit::Type& type) {
    codes.push_back(static_cast<std::int64_t>(element_type(type.dtype)));
    ranks.push_back(static_cast<std::int64_t>(type.sizes.size()));
  }
};

Types argument_types(const jit::CustomFunction& function) {
  Types types;
  for (std::size_t i = 0; i < function.argument_count(); ++i) types.add(function.forward.values[i].type);
  return types;
}

Types result_types(const jit::CustomFunction& function) {
  Types types;
  for (std::size_t k = 0; k < result_count(*function.program_call); ++k) {
    const auto id = static_cast<std::size_t>(function.forward.outputs[k].value);
    types.add(function.forward.values[id].type);
  }
  return types;
}

// By argument, as text; empty for a tensor: what the program's own `infer_shape` is shown again later.
std::vector<std::string> constant_texts(const jit::ProgramCall& call) {
  std::vector<std::string> texts;
  for (const jit::CallPlace& each : call.arguments)
    texts.push_back(each.value ? constant_text(*each.value) : "");
  return texts;
}

Ints as_ints(const std::vector<bool>& flags) { return {flags.begin(), flags.end()}; }

NodeProto node_of(const char* type) {
  NodeProto node;
  node.op_type = type;
  node.domain = kPythonOpDomain;
  return node;
}

template <class Value>
void set(NodeProto& node, const char* name, Value&& value) {
  node.attributes.push_back(AttributeProto::of(name, std::forward<Value>(value)));
}

}  // namespace

NodeProto python_op(const jit::CustomFunction& function, const PythonOpUse& use) {
  const jit::ProgramCall& call = call_of(function);
  if (function.argument_count() == 0)
    throw OpError(ErrorKind::Value,
                  call.qualified_name + " is given no tensor, and a PythonOp has at least one", {},
                  "export with custom=\"function\"");
  check_shapes(function);
  const PythonOpArguments arguments(function);
  Ints requires_grads;
  std::size_t next = 0;
  for (const char each : arguments.convention())
    requires_grads.push_back(each == 'd' && use.is_training && use.needs.at(next++) ? 1 : 0);
  const Types given = argument_types(function), made = result_types(function);
  const ReuseMaps reuse = reuse_maps(call, arguments.convention());
  NodeProto node = node_of("PythonOp");
  set(node, "func_name", call.qualified_name);
  set(node, "input_convention", arguments.convention());
  set(node, "input_requires_grads", requires_grads);
  set(node, "input_tensor_types", given.codes);
  set(node, "input_tensor_ranks", given.ranks);
  set(node, "output_tensor_types", made.codes);
  set(node, "output_tensor_ranks", made.ranks);
  set(node, "training_mode", std::int64_t{use.is_training});
  set(node, "safe_run_mode", std::int64_t{1});
  set(node, "tensor_reuse_map", reuse.forward);
  set(node, "bw_tensor_reuse_map", reuse.backward);
  set(node, "comment", use.comment);
  arguments.write(node);
  if (call.infer_shape) set(node, kShapeConstants, constant_texts(call));
  return node;
}

NodeProto python_op_grad(const jit::CustomFunction& function, const PythonOpUse& use) {
  const jit::ProgramCall& call = call_of(function);
  const PythonOpArguments arguments(function);
  const Types given = result_types(function), made = argument_types(function);
  NodeProto node = node_of("PythonOpGrad");
  set(node, "func_name", call.qualified_name);
  set(node, "output_convention", arguments.convention());
  set(node, "input_tensor_types", given.codes);
  set(node, "input_tensor_ranks", given.ranks);
  set(node, "output_tensor_types", made.codes);
  set(node, "output_tensor_ranks", made.ranks);
  set(node, "output_tensor_requires_grads", as_ints(use.needs));
  set(node, "safe_run_mode", std::int64_t{1});
  set(node, "tensor_reuse_map", reuse_maps(call, arguments.convention()).backward);
  set(node, "comment", use.comment);
  return node;
}

}  // namespace kiln::onnx
