// Owns the node of the tape for a loop that is one node of a graph: of the program while it is captured, and
// of a graph that is differentiated.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "jit/graph/loop.h"
#include "tensor/tape/node.h"
#include "tensor/tape/saved.h"

namespace kiln::jit {

class LoopStep final : public tape::Node {
 public:
  // Gradients go to the inputs with histories. Throws OpError (Capture) where the loop has no derivative.
  LoopStep(std::shared_ptr<const Op> op, Inputs inputs);
  // Called once, before the node is used.
  void set_outputs(Inputs outputs);

  const Op& op() const { return *op_; }
  // May a gradient come in for this result?
  bool carries(std::size_t result) const { return results_[result].carries; }
  // All inputs are kept.
  static constexpr Saves kSaves{~0U, 0};
  // The loop was run on tensors of which some have histories: its results have theirs, which lead to a step.
  static void record(std::shared_ptr<const Op> op, Inputs inputs, Inputs results);

  std::string name() const override { return name_of_output(0); }
  std::string name_of_output(std::uint32_t output) const override { return results_[output].grad_fn; }
  bool has_several_steps() const override { return true; }
  bool wants_zeros() const override { return false; }
  void mark_needed(std::span<const bool> needs, std::span<bool> marks) const override;
  Tensors backward(Inputs grads, std::span<const bool> needs) override;
  // One op, `loop_backward`.
  Tensors backward_onto(Tensors grads, Tensors sums, std::span<const bool> needs) override;
  void release_saved() override;
  std::optional<OpError> freed(std::span<const bool> outputs, std::span<bool> inputs) const override;

 private:
  void visit_kept(ReferenceVisitor& visitor) const override {
    kiln::visit_references(saved_, visitor);
    kiln::visit_references(numbers_, visitor);
  }
  void settle(const SymbolValues& values) override;

  std::shared_ptr<const Op> op_;
  std::vector<TensorType> input_types_;
  std::vector<tape::Saved> saved_;  // by input; absent for numbers
  std::vector<Tensor> numbers_;     // by input; absent for tensors
  std::vector<bool> wanted_;        // by input
  std::vector<LoopResult> results_;
  int times_ = 0;  // that it went back
};

}  // namespace kiln::jit
