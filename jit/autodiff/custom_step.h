// Owns the node of the tape for an application of a function with a derivative of its own, as graphs have it.
#pragma once

#include "tensor/tape/node.h"
#include "tensor/tape/saved.h"

namespace kiln::jit {

class CustomStep final : public tape::Node {
 public:
  // Gradients go to the first `arguments` inputs. Keeps what the backward graph reads.
  CustomStep(const Op& op, Attrs attrs, Inputs inputs, std::size_t arguments);
  // Called once, before the node is used.
  void set_outputs(Inputs outputs);

  const Op& op() const { return *op_; }
  std::string name() const override;
  // Throws OpError (Capture) when only the interpreter has the derivative.
  Tensors backward(Inputs grads, std::span<const bool> needs) override;

 private:
  void visit_kept(ReferenceVisitor& visitor) const override { kiln::visit_references(saved_, visitor); }
  void settle(const SymbolValues& values) override;

  const Op* op_;
  Attrs attrs_;
  std::vector<TensorType> input_types_;
  std::vector<tape::Saved> saved_;  // the inputs, then the outputs, in the order of the op's bits
};

}  // namespace kiln::jit
