// Owns the node of a recorded op: which op, on what types, and the values its derivative reads.
#pragma once

#include <optional>

#include "tensor/tape/node.h"
#include "tensor/tape/saved.h"

namespace kiln::tape {

// Of what `Saves` says of the inputs, or of the outputs: is the i-th among it? The last bit stands for its
// place and all that follow (a list).
inline bool has_bit(std::uint32_t bits, std::size_t i) {
  return ((bits >> std::min<std::size_t>(i, 31)) & 1U) != 0;
}

// "MulBackward".
std::string name_of_backward(const Op& op);
// What backward through the op throws when the values it saved are gone.
OpError freed_error(const Op& op);

class OpNode final : public Node {
 public:
  // Links to the history of the inputs and keeps those that the row's derivative reads.
  OpNode(const Op& op, Inputs inputs, const Attrs& attrs);

  // What a node is beside its place in the graph, when it keeps no values.
  struct Bare {
    const Op* op;
    Attrs attrs;
    SmallVector<TensorType, 2> input_types;
    SmallVector<TensorType, 1> output_types;
    bool released;  // those it kept were freed
  };
  // Nothing while it keeps values.
  std::optional<Bare> bare() const;
  OpNode(const Bare& bare, SmallVector<Edge, 2> inputs);

  // Says what the outputs are and keeps those that the derivative reads. Called once, before the node is
  // used.
  void set_outputs(Inputs outputs);

  // Will this input be kept when a node is made for these inputs?
  static bool keeps_input(const Op& op, Inputs inputs, std::size_t input);

  const Op& op() const { return *op_; }
  const Saves& saves() const { return saves_; }  // which values it keeps
  std::string name() const override;
  Edge viewed(std::uint32_t) const override { return op_->view != nullptr ? Edge(edges[0]) : Edge(); }
  Tensors backward(Inputs grads, std::span<const bool> needs) override;
  void release_saved() override;
  std::optional<OpError> freed(std::span<const bool> outputs, std::span<bool> inputs) const override;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory);

 private:
  void check_alive() const;
  void settle(const SymbolValues& values) override;
  void visit_kept(ReferenceVisitor& visitor) const override { kiln::visit_references(saved_, visitor); }

  const Op* op_;
  Attrs attrs_;
  SmallVector<TensorType, 2> input_types_;
  SmallVector<Saved, 2> saved_;  // the inputs, then the outputs, in the order of `saves_`'s bits
  Saves saves_;
  LiveCount count_;
};

}  // namespace kiln::tape
