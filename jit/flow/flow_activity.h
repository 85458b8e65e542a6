// Owns what is asked of a flow before it is differentiated: which memory tensors show, what carries
// derivatives, and where gradients are kept.
#pragma once

#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

class FlowActivity {
 public:
  // The flow is differentiated by the inputs that are `wanted`. It must outlive the activity.
  FlowActivity(const FlowGraph& flow, const std::vector<bool>& wanted);

  // The tensor that the value is: a step that writes gives its target, any other one a tensor of its own.
  ValueId tensor(ValueId id) const { return tensors_[at(id)]; }
  // The tensor whose memory the value is a view of: itself, but for views.
  ValueId root(ValueId id) const { return roots_[at(id)]; }
  // The step that makes the tensor a view of another; null for roots.
  const Node* view(ValueId id) const { return views_[at(tensor(id))]; }
  // By input: may its gradient follow from that of the value?
  const std::vector<bool>& depends(ValueId id) const { return depends_[at(root(id))]; }
  // Does it carry a derivative?
  bool is_active(ValueId id) const;
  bool is_active(const Operand& operand) const { return operand.is_value() && is_active(operand.value); }
  // May its elements change after it was made?
  bool is_written(ValueId id) const { return written_[group(id)]; }
  // Is the gradient of the tensor memory of its own while the flow goes back? Else all that reads it is in
  // the block that makes it, and its gradient is a value there.
  bool is_in_memory(ValueId id) const { return in_memory_[at(tensor(id))]; }
  // Is it read once alone?
  bool is_read_once(ValueId id) const { return uses_[at(tensor(id))] == 1; }
  std::size_t made_in(ValueId id) const { return made_in_[at(tensor(id))]; }  // the block
  // Does the step record a derivative, as the tape would?
  bool is_recorded(const Node& node) const;

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  bool is_float_tensor(ValueId id) const;
  // Tensors that may be one, since an argument becomes a parameter, are a group.
  std::size_t group(ValueId id) const;
  void find_tensors();
  ValueId root_of(ValueId id);
  void find_groups();
  void find_uses();
  void use(const Operand& operand, std::size_t block);
  void find_active(const std::vector<bool>& wanted);
  bool spread(const Node& node);
  bool add(ValueId to, ValueId from);

  const FlowGraph& flow_;
  std::vector<ValueId> tensors_, roots_;
  std::vector<const Node*> views_;
  std::vector<std::size_t> made_in_;
  std::vector<std::size_t> groups_;         // by root: another one of its group, itself of the first
  std::vector<std::vector<bool>> depends_;  // by root
  std::vector<int> uses_;
  std::vector<bool> written_, in_memory_;
  std::vector<bool> is_detached_;  // a view that stops gradients is among those that make it
};

// The exits behind the loop, which have a derivative.
std::vector<bool> ends_of(const FlowGraph& flow);

// Calls f(target) for the targets of a block's end.
template <class End, class F>
void each_target(End& end, const F& f) {
  if (end.kind == FlowEnd::Kind::Leave) return;
  f(end.then);
  if (end.kind == FlowEnd::Kind::Branch) f(end.other);
}

}  // namespace kiln::jit
