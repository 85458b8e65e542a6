#include "jit/autodiff/loop_step.h"

#include "tensor/op.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {

// Its edges are those of the inputs, of which constants have none.
LoopStep::LoopStep(std::shared_ptr<const Op> op, Inputs inputs)
    : Node(tape::next_sequence()), op_(std::move(op)) {
  for (const Tensor& each : inputs) {
    const bool is_number = each.is_number();
    edges.push_back(is_number ? tape::Edge{} : tape::history(each));
    wanted_.push_back(static_cast<bool>(edges.back()));
    input_types_.push_back(each.type());
    saved_.push_back(is_number ? tape::Saved() : tape::Saved(each));
    numbers_.push_back(is_number ? each : Tensor());
  }
  results_ = differentiated_results(*op_, wanted_);
}

void LoopStep::set_outputs(Inputs outputs) {
  for (const Tensor& each : outputs) output_types.push_back(each.type());
}

void LoopStep::record(std::shared_ptr<const Op> op, Inputs inputs, Inputs results) {
  auto* const step = new LoopStep(std::move(op), inputs);
  const Ref<tape::Node> held(step);
  step->set_outputs(results);
  for (std::uint32_t k = 0; k < results.size(); ++k)
    if (step->carries(k)) tape::start_history(results[k], {held, k});
}

void LoopStep::mark_needed(std::span<const bool> needs, std::span<bool> marks) const {
  for (std::size_t k = 0; k < marks.size(); ++k) {
    for (std::size_t i = 0; i < needs.size(); ++i)
      marks[k] = marks[k] || (needs[i] && results_[k].carries && results_[k].depends[i]);
  }
}

Tensors LoopStep::backward(Inputs grads, std::span<const bool> needs) {
  return backward_onto(Tensors(grads.begin(), grads.end()), Tensors(edges.size()), needs);
}

Tensors LoopStep::backward_onto(Tensors grads, Tensors sums, std::span<const bool> needs) {
  if (has_freed()) throw tape::freed_error(*op_);
  LoopBackward backward;
  backward.name = std::string(op_->name()) + "_backward";
  if (++times_ > 1) backward.name += "_" + std::to_string(times_);
  backward.loop = op_;
  backward.wanted = wanted_;
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < saved_.size(); ++i)
    operands.push_back(numbers_[i] ? numbers_[i] : saved_[i].unpack(input_types_[i]));
  for (std::size_t k = 0; k < grads.size(); ++k) {
    backward.given.push_back(grads[k] && results_[k].carries);
    if (backward.given.back()) operands.push_back(grads[k]);
  }
  for (const Tensor& each : sums) {
    backward.onto.push_back(static_cast<bool>(each));
    if (each) operands.push_back(each);
  }
  const std::shared_ptr<const Op> op = make_loop_backward(std::move(backward));
  const Tensors made = kiln::bind(*op, operands, Attrs(*op));
  Tensors found = std::move(sums);
  const std::vector<std::size_t>& gradients = loop_backward(*op)->gradients;
  for (std::size_t k = 0; k < made.size(); ++k) found[gradients[k]] = made[k];
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!needs[i]) found[i] = Tensor();
  return found;
}

void LoopStep::release_saved() {
  for (tape::Saved& each : saved_) each = {};
  has_freed_ = true;
}

std::optional<OpError> LoopStep::freed(std::span<const bool>, std::span<bool>) const {
  return has_freed() ? std::optional(tape::freed_error(*op_)) : std::nullopt;
}

void LoopStep::settle(const SymbolValues& values) {
  Node::settle(values);
  for (TensorType& each : input_types_) each.sizes = evaluate(each.sizes, values);
  for (tape::Saved& each : saved_) each.settle(values);
}

}  // namespace kiln::jit
