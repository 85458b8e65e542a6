// Owns what is asked of a flow before it is differentiated: which memory tensors show, what carries
// derivatives, and where gradients are kept.
#pragma once

#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

class FlowActivity {
 public:
  // The results at this exit are differentiated by the inputs that are `wanted`.
  FlowActivity(const FlowGraph& flow, const std::vector<bool>& wanted, ExitId exit);

  // The value whose memory this one is, or shows a part of: itself, but for views and for what writes give.
  ValueId root(ValueId id) const { return roots_[at(id)]; }
  // The step that makes a view or writes; null for roots.
  const Node* shown_by(ValueId id) const { return shown_by_[at(id)]; }
  // Does it carry a derivative?
  bool is_active(ValueId id) const { return is_float_tensor(id) && active_[group(id)]; }
  bool is_active(const Operand& operand) const { return operand.is_value() && is_active(operand.value); }
  // May its elements change after it was made?
  bool is_written(ValueId id) const { return written_[group(id)]; }
  // Is its gradient memory of its own, as long as the tensor is there? Else all that reads it is in one
  // block, and its gradient is a value there.
  bool is_in_memory(ValueId id) const { return in_memory_[group(id)]; }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  bool is_float_tensor(ValueId id) const;
  // Tensors that may be one, since an argument becomes a parameter, are a group.
  std::size_t group(ValueId id) const;
  void join(ValueId a, ValueId b);
  void find_roots();
  void find_groups();
  void find_uses(ExitId exit);
  void use(const Operand& operand, std::size_t block);
  bool spread(const Node& node);

  const FlowGraph& flow_;
  std::vector<ValueId> roots_;
  std::vector<const Node*> shown_by_;
  std::vector<std::size_t> made_in_;  // the block
  std::vector<std::size_t> groups_;   // by root: another one of its group, itself of the first
  std::vector<bool> active_, written_, in_memory_;
};

}  // namespace kiln::jit
