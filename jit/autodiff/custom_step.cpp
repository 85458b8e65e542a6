#include "jit/autodiff/custom_step.h"

#include "jit/graph/custom.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {

CustomStep::CustomStep(const Op& op, Attrs attrs, Inputs inputs, std::size_t arguments)
    : Node(tape::next_sequence()), op_(&op), attrs_(std::move(attrs)) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    edges.push_back(i < arguments ? tape::history(inputs[i]) : tape::Edge{});
    input_types_.push_back(inputs[i].type());
    if (tape::has_bit(op.saves.inputs, i)) saved_.emplace_back(inputs[i]);
  }
}

void CustomStep::set_outputs(Inputs outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    output_types.push_back(outputs[k].type());
    if (tape::has_bit(op_->saves.outputs, k)) saved_.emplace_back(outputs[k]);
  }
}

std::string CustomStep::name() const { return custom_function(*op_)->program_name; }

Tensors CustomStep::backward(Inputs grads, std::span<const bool> needs) {
  Tensors inputs(edges.size()), outputs(output_types.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tape::has_bit(op_->saves.inputs, i)) inputs[i] = saved_[kept++].unpack(input_types_[i]);
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (tape::has_bit(op_->saves.outputs, k)) outputs[k] = saved_[kept++].unpack(output_types[k]);
  }
  Tensors made =
      derivative_of(*op_)({*op_, attrs_, inputs, outputs, input_types_, output_types, grads, needs});
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!needs[i]) made[i] = {};
  }
  return made;
}

void CustomStep::settle(const SymbolValues& values) {
  Node::settle(values);
  attrs_ = evaluate(std::move(attrs_), values);
  for (TensorType& each : input_types_) each.sizes = evaluate(each.sizes, values);
  for (tape::Saved& each : saved_) each.settle(values);
}

}  // namespace kiln::jit
