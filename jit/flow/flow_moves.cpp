#include "jit/flow/flow_moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

bool makes_view(const FlowActivity& activity, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&activity](ValueId id) {
    return activity.view(id) != nullptr && activity.tensor(id) == id;
  });
}

}  // namespace

bool is_differentiated(const FlowActivity& activity, const Node& node) {
  if (node.is_constant() || number_op_of(*node.op)) return false;
  // Also a write of what carries no derivative: nothing is left of what was there.
  if (node.writes()) return activity.is_active(node.operands[0].value);
  const auto is_active = [&activity](ValueId id) { return activity.is_active(id); };
  return activity.is_recorded(node) && std::any_of(node.outputs.begin(), node.outputs.end(), is_active);
}

bool replaces_target(const Node& node) { return node.writes() && node.op->infer == core_ops().copy.infer; }

bool shows_all(const FlowActivity& activity, ValueId view, ValueId shown) {
  for (ValueId id = activity.tensor(view); id != shown;) {
    const Node& made = *activity.view(id);
    if (!made.op->has(kShowsAll)) return false;
    id = activity.tensor(made.operands[0].value);
  }
  return true;
}

FlowMoves::FlowMoves(const FlowGraph& flow, const FlowActivity& activity, const FlowViews& views)
    : flow_(flow), activity_(activity), views_(views) {
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    std::vector<std::vector<GradientMove>>& steps = moves_.emplace_back();
    for (std::size_t k = 0; k < flow.blocks[b].steps.size(); ++k) steps.push_back(find(b, k));
  }
}

std::vector<GradientMove> FlowMoves::find(std::size_t block, std::size_t step) const {
  const Node& node = flow_.blocks[block].steps[step].node;
  std::vector<GradientMove> moves;
  if (makes_view(activity_, node)) {
    if (activity_.is_recorded(node)) moves = of_views(block, step);
  } else if (!is_differentiated(activity_, node)) {
    for (const ValueId id : node.outputs)
      if (activity_.tensor(id) == id && activity_.is_active(id))
        moves.push_back({GradientMove::Kind::Nowhere, {id}, {}});
  } else if (node.writes()) {
    const ValueId target = activity_.tensor(node.operands[0].value), root = activity_.root(target);
    check_parts(target);
    moves.push_back({GradientMove::Kind::Write, {root}, active_operands(node)});
    if (target != root) moves.back().from.push_back(target);
  } else {
    moves.push_back({GradientMove::Kind::Rule, {}, active_operands(node)});
    for (const ValueId id : node.outputs)
      if (activity_.is_active(id)) moves.back().from.push_back(id);
  }
  const std::vector<ValueId>& renewed = views_.renewed_by(block, step);
  for (auto view = renewed.rbegin(); view != renewed.rend(); ++view) {
    check_parts(*view);
    moves.push_back({GradientMove::Kind::Part, {*view}, {activity_.root(*view)}});
  }
  return moves;
}

// Does the view show no element twice, whatever sizes are? Then gradients can be added through it. Windows
// that overlap have a dimension of their own.
bool FlowMoves::shows_once(const Node& view) const {
  if (view.op->has(kShowsAll)) return true;
  if (view.op == &core_ops().expand || view.op == &core_ops().as_strided) return false;
  return flow_.type(view.outputs[0]).sizes.size() <= flow_.type(view.operands[0].value).sizes.size();
}

void FlowMoves::check_parts(ValueId view) const {
  for (const Node* made = activity_.view(view); made != nullptr;
       made = activity_.view(made->operands[0].value))
    if (!shows_once(*made))
      throw OpError(ErrorKind::Capture,
                    fmt::format("what `{}` shows is written before it is read", made->op->name()));
}

std::vector<ValueId> FlowMoves::active_operands(const Node& node) const {
  std::vector<ValueId> found;
  for (std::size_t i = replaces_target(node) ? 1 : 0; i < node.operands.size(); ++i)
    if (activity_.is_active(node.operands[i])) found.push_back(activity_.tensor(node.operands[i].value));
  return found;
}

// ---- Views ----

std::vector<GradientMove> FlowMoves::of_views(std::size_t block, std::size_t step) const {
  const Node& node = flow_.blocks[block].steps[step].node;
  const ValueId shown = shows_once(node) ? shown_by(block, step, node.outputs[0]) : Operand::kAbsent;
  std::vector<ValueId> active;
  for (const ValueId id : node.outputs)
    if (activity_.is_active(id)) active.push_back(id);
  if (active.empty()) return {};
  // The tape adds the gradients of all pieces of a tensor at once.
  if (shown == Operand::kAbsent || !activity_.is_in_memory(shown) || node.outputs.size() > 1)
    return {{GradientMove::Kind::Rule, std::move(active), active_operands(node)}};
  return {{GradientMove::Kind::Part, std::move(active), {shown}}};
}

// A view on the way that only the next one reads has the same gradient, and gives it at the same time where
// nothing else is added in between.
ValueId FlowMoves::shown_by(std::size_t block, std::size_t step, ValueId view) const {
  const auto shown = [&](ValueId id) { return activity_.tensor(activity_.view(id)->operands[0].value); };
  ValueId found = shown(view);
  while (!activity_.is_in_memory(found) && activity_.view(found) != nullptr &&
         shows_once(*activity_.view(found)) && activity_.is_read_once(found) &&
         !is_read_between(block, step, found, activity_.root(found)))
    found = shown(found);
  return found;
}

// Is memory of the root read by a step behind the one that makes a view of it, and before this step?
bool FlowMoves::is_read_between(std::size_t block, std::size_t step, ValueId made, ValueId root) const {
  const std::vector<FlowStep>& steps = flow_.blocks[block].steps;
  for (std::size_t k = step; k-- > 0;) {
    const Node& node = steps[k].node;
    if (node.is_constant()) continue;
    if (std::find(node.outputs.begin(), node.outputs.end(), made) != node.outputs.end()) return false;
    const bool reads = std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
      return activity_.is_active(each) && activity_.root(each.value) == root;
    });
    const bool is_on_the_way =
        node.operands[0].is_value() && activity_.tensor(node.operands[0].value) == made;
    if (reads && !is_on_the_way) return true;
  }
  return false;
}

}  // namespace kiln::jit
