#include "jit/flow/flow_stack.h"

namespace kiln::jit {
namespace {

std::vector<TensorType> no_results(std::span<const TensorType>, const Attrs&) { return {}; }

// What the evaluator and compiled code do themselves.
Tensors need_stack(const Op& op, Inputs, const Attrs&) {
  throw InternalError(std::string(op.name()) + " is run by a flow alone");
}

Op stack_op(const char* signature) {
  Op op;
  op.signature = Signature::parse(signature);
  op.infer = no_results;
  op.call = need_stack;
  op.effects = kOrdered;
  return op;
}

}  // namespace

const Op& push_op() {
  static const Op* const op = new Op(stack_op("flow.push(x: tensor)"));
  return *op;
}

const Op& pop_op() {
  static const Op* const op = new Op(stack_op("flow.pop()"));
  return *op;
}

}  // namespace kiln::jit
