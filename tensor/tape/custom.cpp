#include "tensor/tape/custom.h"

#include <algorithm>

#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/record.h"

namespace kiln::tape {
namespace {

class CustomNode final : public Node {
 public:
  explicit CustomNode(std::unique_ptr<CustomDerivative> derivative)
      : Node(next_sequence()), derivative_(std::move(derivative)) {}

  std::string name() const override { return derivative_->name(); }
  Tensors backward(Inputs grads, std::span<const bool> needs) override {
    if (has_freed_) throw freed_function_error(name());
    return derivative_->backward(*this, grads, needs);
  }
  void release_saved() override {
    has_freed_ = true;
    derivative_->release_saved();
  }
  std::optional<OpError> freed(std::span<const bool>, std::span<bool>) const override {
    return has_freed_ ? std::optional(freed_function_error(name())) : std::nullopt;
  }
  bool wants_zeros() const override { return derivative_->wants_zeros(); }
  bool is_opaque() const override { return derivative_->is_opaque(); }
  bool shares_input(std::uint32_t output) const override { return shared_[output]; }
  void note_output(bool shares_input) { shared_.push_back(shares_input); }

 private:
  void visit_kept(ReferenceVisitor& visitor) const override { derivative_->visit_references(visitor); }
  void settle(const SymbolValues& values) override {
    Node::settle(values);
    derivative_->settle(values);
  }

  std::unique_ptr<CustomDerivative> derivative_;
  SmallVector<bool, 2> shared_;  // by output
  LiveCount count_;
};

bool shares_memory(Inputs inputs, const Tensor& output) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& x) { return x && shares_storage(x, output); });
}

}  // namespace

OpError freed_function_error(const std::string& name) {
  return OpError(ErrorKind::Autograd, name + ": what it saved was freed by an earlier backward", {},
                 "pass retain_graph=true to the first backward");
}

void record_custom(Inputs inputs, Inputs outputs, std::unique_ptr<CustomDerivative> derivative,
                   std::span<const bool> constant) {
  if (!sees(inputs)) return;
  auto* const made = new CustomNode(std::move(derivative));
  const Ref<Node> node(made);
  for (const Tensor& input : inputs) node->edges.push_back(input ? history(input) : Edge{});
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    node->output_types.push_back(output ? output.type() : TensorType{});
    const auto is_input = [&](const Tensor& x) { return x.is_same(output); };
    const bool written = output && std::any_of(inputs.begin(), inputs.end(), is_input);
    made->note_output(output && !written && shares_memory(inputs, output));
    if (!output) continue;
    const bool differentiable = is_differentiable(output.dtype()) && (constant.empty() || !constant[i]);
    const Edge edge = differentiable ? Edge{node, i} : Edge{};
    if (written) {
      replace_history(output, edge);
    } else if (differentiable) {
      start_history(output, edge);
    }
  }
}

SavedTensor::SavedTensor(const Tensor& value)
    : saved_(value), type_(value.type()), edge_(history(value)), identity_(value.impl()) {}

void SavedTensor::look_among(Inputs outputs) {
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].impl() == identity_) output_ = i, edge_ = Edge{};
  }
  identity_ = nullptr;
}

Tensor SavedTensor::get(Node& node) const {
  Tensor value = saved_.unpack(type_);
  const Edge edge = output_ ? Edge{Ref<Node>(&node), *output_} : edge_;
  if (recording && edge) start_history(value, edge);
  return value;
}

}  // namespace kiln::tape
