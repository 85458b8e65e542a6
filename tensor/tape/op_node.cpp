#include "tensor/tape/op_node.h"

#include <array>
#include <cctype>

#include "tensor/memory.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"

namespace kiln::tape {
namespace {

template <class Types>
void add_type(Types& types, const Tensor& x) {
  if (x) {
    types.emplace_back(x.dtype(), x.device(), x.sizes(), x.is_number());
  } else {
    types.emplace_back(DType::Bool, Device{}, Dims{}, true);  // promotes nothing, as in `bind`
  }
}

// Which values the gradients that are wanted will read.
Saves saves_for(const Op& op, std::span<const Edge> edges) {
  if (op.saves_by_input.empty()) return op.saves;
  Saves wanted;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i]) wanted = wanted | op.saves_by_input[std::min(i, op.saves_by_input.size() - 1)];
  }
  return wanted;
}

}  // namespace

OpNode::OpNode(const Op& op, Inputs inputs, const Attrs& attrs)
    : Node(next_sequence()), op_(&op), attrs_(attrs) {
  edges.reserve(inputs.size());
  input_types_.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    edges.emplace_back(input ? history(input) : Edge{});
    add_type(input_types_, input);
  }
  saves_ = saves_for(op, edges);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!has_bit(saves_.inputs, i)) continue;
    if (inputs[i]) {
      saved_.emplace_back(inputs[i]);
    } else {
      saved_.emplace_back();
    }
  }
}

std::optional<OpNode::Bare> OpNode::bare() const {
  if (!saved_.empty()) return std::nullopt;
  return Bare{op_, attrs_, input_types_, output_types, has_freed_};
}

OpNode::OpNode(const Bare& bare, SmallVector<Edge, 2> inputs)
    : Node(next_sequence()), op_(bare.op), attrs_(bare.attrs), input_types_(bare.input_types) {
  has_freed_ = bare.released;
  edges = std::move(inputs);
  output_types = bare.output_types;
}

void OpNode::set_outputs(Inputs outputs) {
  output_types.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    add_type(output_types, outputs[i]);
    if (has_bit(saves_.outputs, i)) saved_.emplace_back(outputs[i]);
  }
}

bool OpNode::keeps_input(const Op& op, Inputs inputs, std::size_t input) {
  SmallVector<Edge, 4> edges;
  for (const Tensor& each : inputs) edges.push_back(each ? history(each) : Edge{});
  return has_bit(saves_for(op, edges).inputs, input);
}

std::string OpNode::name() const { return name_of_backward(*op_); }

std::string name_of_backward(const Op& op) {
  std::string text;
  bool capital = true;
  for (const char c : op.name()) {
    if (c == '_') {
      capital = true;
    } else {
      text += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      capital = false;
    }
  }
  return text + "Backward";
}

OpError freed_error(const Op& op) {
  return OpError(
      ErrorKind::Autograd,
      "backward through " + spoken_name(op) + " a second time: the values it saved were freed by the first",
      {}, "pass retain_graph=true to the first backward");
}

void OpNode::check_alive() const {
  if (!op_->vjp) {
    throw OpError(ErrorKind::Autograd,
                  std::string(op_->name()) + " has no derivative: " + std::string(op_->vjp.missing), {},
                  "detach its input, or give the derivative with an `autograd` function");
  }
  if (has_freed_) throw freed_error(*op_);
}

Tensors OpNode::backward(Inputs grads, std::span<const bool> needs) {
  check_alive();
  SmallVector<Tensor, 3> inputs(edges.size());
  SmallVector<Tensor, 2> outputs(output_types.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!has_bit(saves_.inputs, i)) continue;
    inputs[i] = saved_[kept++].unpack(input_types_[i]);
    if (recording && inputs[i] && edges[i]) start_history(inputs[i], edges[i]);
  }
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!has_bit(saves_.outputs, i)) continue;
    outputs[i] = saved_[kept++].unpack(output_types[i]);
    if (recording && is_differentiable(outputs[i].dtype()))
      start_history(outputs[i], Edge{Ref<Node>(this), i});
  }
  return op_->vjp.fn({*op_, attrs_, inputs, outputs, input_types_, output_types, grads, needs});
}

void OpNode::settle(const SymbolValues& values) {
  Node::settle(values);
  attrs_ = evaluate(std::move(attrs_), values);
  for (TensorType& each : input_types_) each.sizes = evaluate(each.sizes, values);
  for (Saved& each : saved_) each.settle(values);
}

void OpNode::release_saved() {
  if (saved_.empty()) return;
  saved_ = {};
  has_freed_ = true;
}

std::optional<OpError> OpNode::freed(std::span<const bool>, std::span<bool>) const {
  return has_freed_ ? std::optional(freed_error(*op_)) : std::nullopt;
}

void* OpNode::operator new(std::size_t bytes) { return memory::take_object(memory::Pool::Node, bytes); }
void OpNode::operator delete(void* memory) { memory::give_object(memory::Pool::Node, memory); }

}  // namespace kiln::tape
