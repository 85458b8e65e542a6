// The derivative of a custom op by its graphs, as the tape asks for it.
#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/runtime/custom_op.h"
#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

class GraphRules final : public levels::CustomRules {
 public:
  // `captured`: the operands that are no arguments.
  GraphRules(std::shared_ptr<const CustomOp> op, Inputs captured, SymbolValues sizes)
      : op_(std::move(op)), captured_(captured.begin(), captured.end()), sizes_(std::move(sizes)) {}

  std::string name() const override { return op_->function.program_name; }
  bool is_noted() const override { return true; }
  bool has_jvp() const override { return false; }
  bool wants_zeros() const override { return true; }
  bool reads_input(std::size_t i) const override { return reads(Operand::of(static_cast<ValueId>(i))); }
  bool reads_output(std::size_t i) const override { return reads(op_->function.forward.outputs[i]); }
  bool batch(const levels::BatchLevel&, Inputs, const levels::Flags&, Tensors&, levels::Flags&) override {
    return false;
  }
  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(captured_, visitor);
  }
  levels::Flags constants() const override {
    levels::Flags constants;
    for (std::size_t k = 0; k < op_->function.forward.outputs.size(); ++k)
      constants.push_back(!has_gradient(*op_, k));
    return constants;
  }

  Tensors forward(Inputs inputs, const levels::Flags&) override {
    std::vector<Tensor> operands(inputs.begin(), inputs.end());
    for (const Tensor& each : inputs) types_.add(each);
    operands.insert(operands.end(), captured_.begin(), captured_.end());
    Tensors results = op_->forward->run(operands, values_for(op_->function.forward, sizes_));
    // What is the argument itself would be one that was written.
    for (Tensor& each : results) {
      const bool given =
          std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return input.is_same(each); });
      if (given) each = ops::detach(each);
    }
    return results;
  }

  Tensors backward(const levels::SavedTensors& kept, Inputs grads, const levels::Flags& needs) override {
    const Graph& forward = op_->function.forward;
    Tensors given;
    for (const ValueId id : forward.saved) given.push_back(saved(kept, id));
    for (std::size_t k = 0; k < grads.size(); ++k) {
      if (has_gradient(*op_, k)) given.push_back(grads[k]);
    }
    const Tensors made = op_->backward->run(given, values_for(*op_->function.backward, sizes_));
    Tensors result;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const bool none = !needs[i] || !made[i];
      result.push_back(none ? Tensor()
                            : levels::fitted(made[i], types_[i], name(), "backward", "gradient", i));
    }
    return result;
  }

  Tensors jvp(const levels::SavedTensors&, Inputs) override {
    throw InternalError("a graph has no rule of its own for tangents");
  }

 private:
  bool reads(const Operand& value) const {
    const auto& saved = op_->function.forward.saved;
    return std::find(saved.begin(), saved.end(), value.value) != saved.end();
  }
  Tensor saved(const levels::SavedTensors& kept, ValueId id) const {
    const std::size_t arguments = op_->function.argument_count();
    if (as_index(id) < arguments) return kept.inputs[as_index(id)];
    if (as_index(id) < op_->function.forward.inputs.size()) return captured_[as_index(id) - arguments];
    const auto& outputs = op_->function.forward.outputs;
    const auto found = std::find(outputs.begin(), outputs.end(), Operand::of(id));
    return kept.outputs[static_cast<std::size_t>(found - outputs.begin())];
  }

  std::shared_ptr<const CustomOp> op_;
  std::vector<Tensor> captured_;
  SymbolValues sizes_;
  levels::ArgumentTypes types_;
  levels::LiveApplication alive_;
};

}  // namespace

std::shared_ptr<levels::CustomRules> graph_rules(std::shared_ptr<const CustomOp> op, Inputs captured,
                                                 SymbolValues sizes) {
  return std::make_shared<GraphRules>(std::move(op), captured, std::move(sizes));
}

}  // namespace kiln::jit
