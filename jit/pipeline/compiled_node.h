// Owns the nodes that a function compiled ahead of time leaves on the tape, one for each part of the backward
// pass.
#pragma once

#include "jit/pair_backward.h"
#include "tensor/tape/node.h"
#include "tensor/tape/saved.h"

namespace kiln::jit {

class CompiledNode final : public tape::Node {
 public:
  // `next`: where the gradients of the part's targets go. `saved`: what the forward graph kept, in order.
  CompiledNode(std::shared_ptr<const Backwards> backwards, std::size_t part, const SymbolValues& symbols,
               SmallVector<tape::Edge, 2> next, Inputs saved);

  std::string name() const override { return name_of_output(0); }
  std::string name_of_output(std::uint32_t output) const override;
  Tensors backward(Inputs grads, std::span<const bool> needs) override {
    return backward_onto(Tensors(grads.begin(), grads.end()), Tensors(edges.size()), needs);
  }
  tape::Edge viewed(std::uint32_t output) const override;
  bool has_several_steps() const override { return true; }
  void mark_needed(std::span<const bool> needs, std::span<bool> outputs) const override;
  Tensors backward_onto(Tensors grads, Tensors sums, std::span<const bool> needs) override;
  void expect_release() override { is_last_ = true; }
  void release_saved() override;
  std::optional<OpError> freed(std::span<const bool> outputs, std::span<bool> inputs) const override;
  bool wants_zeros() const override { return false; }
  // In the order in which the tape would run the program's nodes.
  bool hooks_first(std::uint32_t a, std::uint32_t b) const override {
    return backwards_->turn_of(ports_[a].node) < backwards_->turn_of(ports_[b].node);
  }

 private:
  void visit_kept(ReferenceVisitor& visitor) const override { kiln::visit_references(kept_, visitor); }
  void settle(const SymbolValues& values) override;
  bool is_freed(int n) const { return !freed_.empty() && freed_[static_cast<std::size_t>(n)]; }
  const BackwardPart& part() const { return backwards_->parts()[number_]; }
  BackwardRequest request(Inputs grads, Inputs sums, std::span<const bool> needs) const;
  std::vector<bool> needed_steps(std::span<const bool> needs, std::span<const bool> outputs) const;
  OpError freed_error(int step) const;
  void check_alive(std::span<const int> savers) const;
  Tensors run(const OverSaved& graph, Inputs before, Tensors after, bool is_last);
  bool frees_all() const;
  Tensors recorded(const RecordedBackward& backward, Inputs grads);
  tape::Edge edge_of(const Edge& edge, const Type& type);

  std::shared_ptr<const Backwards> backwards_;
  std::size_t number_;  // of the part
  SymbolValues symbols_;
  SmallVector<Edge, 4> ports_;  // the edges of the program's tape that the outputs stand for
  struct SavedValue {
    tape::Saved value;
    TensorType type;
    void visit_references(ReferenceVisitor& visitor) const { value.visit_references(visitor); }
  };
  std::vector<SavedValue> kept_;  // by number; empty where the part does not read the value
  std::vector<int> ran_;          // nodes of the program's tape that the last backward ran
  std::vector<bool> freed_;  // by node of the program's tape: its saved values would be freed; empty: none
  bool is_last_ = false;     // the next backward is the last one
  tape::LiveCount count_;
};

}  // namespace kiln::jit
