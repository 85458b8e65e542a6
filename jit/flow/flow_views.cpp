#include "jit/flow/flow_views.h"

#include <map>

namespace kiln::jit {
namespace {

// The views that one block makes, from its first step to the last.
class BlockViews {
 public:
  explicit BlockViews(const FlowActivity& activity) : activity_(activity) {}

  std::vector<ValueId> step(const Node& node) {
    std::vector<ValueId> renewed;
    for (const Operand& each : node.operands) {
      const auto known = each.is_value() ? is_behind_.find(activity_.tensor(each.value)) : is_behind_.end();
      if (known == is_behind_.end() || !known->second) continue;
      known->second = false;
      renewed.push_back(known->first);
    }
    if (node.is_constant()) return renewed;
    if (node.writes()) {
      write(activity_.tensor(node.operands[0].value));
    } else if (node.is_view()) {
      for (const ValueId id : node.outputs)
        if (activity_.view(id) != nullptr) is_behind_[id] = false;
    }
    return renewed;
  }

 private:
  // What is written through a view is what that view is then.
  void write(ValueId target) {
    const ValueId root = activity_.root(target);
    for (auto& [view, is_behind] : is_behind_)
      if (activity_.root(view) == root) is_behind = view != target;
  }

  const FlowActivity& activity_;
  std::map<ValueId, bool> is_behind_;  // was the root written since the view was made, or last read?
};

}  // namespace

FlowViews::FlowViews(const FlowGraph& flow, const FlowActivity& activity) {
  for (const FlowBlock& block : flow.blocks) {
    BlockViews views(activity);
    std::vector<std::vector<ValueId>>& steps = renewed_.emplace_back();
    for (const FlowStep& each : block.steps) steps.push_back(views.step(each.node));
  }
}

}  // namespace kiln::jit
