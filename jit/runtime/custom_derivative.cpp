// The derivative of a custom op in graphs: the steps of its backward body, or one node for it.
#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/with_sizes.h"
#include "jit/runtime/custom_op.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

thread_local bool keeps_backward = false;
thread_local bool calls_interpreter = false;

// What all ops of backward bodies have, with the body as the forward one.
CustomFunction backward_function(const CustomOp& op, Graph body) {
  CustomFunction function{op.function.name + "_backward", std::move(body), {}, nullptr, {}};
  function.program_name = op.function.program_name;
  function.program_call = op.function.program_call;
  function.backward_of = op.shared_from_this();
  function.forward.stage = Stage::Forward;
  function.forward.name = function.name;
  return function;
}

std::shared_ptr<const Op> backward_op(const CustomOp& op) {
  if (auto known = op.kept_backward.lock()) return known;
  CustomFunction function = backward_function(op, *op.function.backward);
  for (Input& each : function.forward.inputs) each.role = Role::Argument;
  function.forward.outputs.clear();
  for (std::size_t i = 0; i < op.function.backward->outputs.size(); ++i) {
    const Operand& each = op.function.backward->outputs[i];
    if (!each.is_value()) continue;
    function.gradients_of.push_back(i);
    function.forward.outputs.push_back(each);
  }
  auto made = make_custom_op(std::move(function));
  op.kept_backward = made;
  return made;
}

// From the results of the application, then the gradient of each that has one.
std::shared_ptr<const Op> interpreted_backward_op(const CustomOp& op, std::span<const bool> needs) {
  const Graph& forward = op.function.forward;
  Builder builder;
  Node node;
  node.op = &interpreted_op();
  const auto take = [&](std::size_t k, std::string_view of) {
    const Value& result = forward.values[as_index(forward.outputs[k].value)];
    const std::string name = std::string(of) + std::to_string(k);
    node.operands.push_back(Operand::of(builder.input(name, result.type)));
  };
  for (std::size_t k = 0; k < forward.outputs.size(); ++k) take(k, "result");
  for (std::size_t k = 0; k < forward.outputs.size(); ++k) {
    if (has_gradient(op, k)) take(k, "grad");
  }
  std::vector<std::size_t> gradients_of;
  std::vector<Type> types;
  for (std::size_t i = 0; i < op.function.argument_count(); ++i) {
    if (!needs[i] || !is_differentiable(forward.values[i].type.dtype)) continue;
    gradients_of.push_back(i);
    types.push_back(forward.values[i].type);
  }
  for (const ValueId id : builder.append(std::move(node), types))
    builder.graph.outputs.push_back(Operand::of(id));
  builder.graph.fast_math = forward.fast_math;
  builder.graph.hints = forward.hints;
  CustomFunction function = backward_function(op, std::move(builder.graph));
  function.gradients_of = std::move(gradients_of);
  auto made = make_custom_op(std::move(function));
  op.interpreted_backwards.push_back(std::static_pointer_cast<const CustomOp>(made));
  return made;
}

// The gradients of the arguments that a backward body gives, by one node.
Tensors run_kept(const std::shared_ptr<const Op>& op, const SymbolSizes& sizes, Inputs given) {
  const CustomFunction& function = custom(*op).function;
  const Graph& backward = function.forward;
  Builder builder;
  Node node;
  node.op = builder.graph.own_ops.emplace_back(op).get();
  node.attrs = own_sizes(*op);
  builder.graph.fast_math = backward.fast_math;
  builder.graph.hints = backward.hints;
  for (const Value& each : std::span(backward.values).first(backward.inputs.size()))
    node.operands.push_back(Operand::of(builder.input(each.name, each.type)));
  std::vector<Type> types;
  for (const Operand& each : backward.outputs) types.push_back(backward.values[as_index(each.value)].type);
  for (const ValueId id : builder.append(std::move(node), types))
    builder.graph.outputs.push_back(Operand::of(id));
  builder.graph.stage = Stage::Functional;
  const Tensors values = evaluate(with_sizes(std::move(builder.graph), sizes), given);
  Tensors made(custom(*function.backward_of).function.argument_count());
  for (std::size_t k = 0; k < values.size(); ++k) made[function.gradients_of[k]] = values[k];
  return made;
}

// The derivative of a node whose backward body the interpreter has.
Tensors interpreted_vjp(const VjpArgs& args) {
  const CustomOp& op = custom(args.op);
  Tensors given(args.outputs.begin(), args.outputs.end());
  for (std::size_t k = 0; k < args.grads.size(); ++k) {
    if (has_gradient(op, k)) given.push_back(args.grads[k]);
  }
  Tensors made = run_kept(interpreted_backward_op(op, args.needs), sizes_of(op, args.attrs), given);
  made.resize(args.inputs.size());
  return made;
}

// The derivative of nodes of a graph: the steps of the backward body, or one node for it.
Tensors graph_vjp(const VjpArgs& args) {
  const CustomOp& op = custom(args.op);
  const CustomFunction& function = op.function;
  const Graph& forward = function.forward;
  Tensors given;
  for (const ValueId id : forward.saved) {
    if (as_index(id) < forward.inputs.size()) {
      given.push_back(args.inputs[as_index(id)]);
    } else {
      const auto found = std::find(forward.outputs.begin(), forward.outputs.end(), Operand::of(id));
      given.push_back(args.outputs[static_cast<std::size_t>(found - forward.outputs.begin())]);
    }
  }
  for (std::size_t k = 0; k < args.grads.size(); ++k) {
    if (has_gradient(args.op, k)) given.push_back(args.grads[k]);
  }
  const SymbolSizes sizes = sizes_of(op, args.attrs);
  check_sizes(op, sizes);
  Tensors made = keeps_backward ? run_kept(backward_op(op), sizes, given)
                                : evaluate(with_sizes(*function.backward, sizes), given);
  made.resize(args.inputs.size());
  return made;
}

}  // namespace

KeptBackward::KeptBackward() : before_(std::exchange(keeps_backward, true)) {}
KeptBackward::~KeptBackward() { keeps_backward = before_; }
InterpretedBackward::InterpretedBackward() : before_(std::exchange(calls_interpreter, true)) {}
InterpretedBackward::~InterpretedBackward() { calls_interpreter = before_; }

VjpFn derivative_of(const Op& op) {
  const CustomFunction* function = custom_function(op);
  if (function == nullptr) return op.vjp.fn;
  if (!function->backward && calls_interpreter && function->begin) return interpreted_vjp;
  if (!function->backward)
    throw OpError(ErrorKind::Capture, "the derivative of " + function->name + " is the interpreter's");
  return graph_vjp;
}

}  // namespace kiln::jit
