#include "jit/flow/flow_reach.h"

#include <algorithm>
#include <utility>

#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

Reach merged(Reach a, Reach b) { return a == b ? a : Reach::Sometimes; }

}  // namespace

bool replaces_target(const Node& node) { return node.writes() && node.op->infer == core_ops().copy.infer; }

bool shows_all(const FlowActivity& activity, ValueId view) {
  for (const Node* made = activity.view(view); made != nullptr; made = activity.view(made->operands[0].value))
    if (!made->op->has(kShowsAll)) return false;
  return true;
}

FlowReach::FlowReach(const FlowGraph& flow, const FlowActivity& activity, const FlowViews& views, ExitId exit,
                     const std::vector<ValueId>& given, ValueId watched)
    : flow_(flow),
      activity_(activity),
      views_(views),
      exit_(exit),
      before_(flow.blocks.size()),
      uncertain_(flow.values.size(), false) {
  behind_.reach.assign(flow.values.size(), Reach::Never);
  for (const ValueId id : given) behind_.reach[at(activity.tensor(id))] = Reach::Always;
  if (watched >= 0) behind_.watched.insert(activity.tensor(watched));
  for (const FlowBlock& each : flow.blocks) {
    steps_.emplace_back(each.steps.size(), Reach::Never);
    targets_.emplace_back(each.steps.size(), Reach::Never);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = flow.blocks.size(); b-- > 0;) {
      std::optional<State> state = at_end(b);
      if (!state) continue;
      go_back(b, *state);
      if (before_[b] == state) continue;
      before_[b] = std::move(state);
      changed = true;
    }
  }
  for (std::size_t i = 0; i < flow.inputs.size(); ++i) {
    inputs_.push_back(before_[0] ? before_[0]->reach[i] : Reach::Never);
    if (inputs_.back() == Reach::Sometimes) uncertain_[i] = true;
  }
}

// Nothing where no way leads to the exit, as far as is known yet.
std::optional<FlowReach::State> FlowReach::at_end(std::size_t block) {
  const FlowEnd& end = flow_.blocks[block].end;
  if (end.kind == FlowEnd::Kind::Leave) return end.exit == exit_ ? std::optional(behind_) : std::nullopt;
  std::optional<State> found;
  each_target(end, [&](const FlowEnd::Target& target) {
    if (!before_[at(target.block)]) return;
    State state = across(target);
    if (!found) {
      found = std::move(state);
      return;
    }
    for (std::size_t id = 0; id < state.reach.size(); ++id)
      found->reach[id] = merged(found->reach[id], state.reach[id]);
    found->watched.insert(state.watched.begin(), state.watched.end());
  });
  return found;
}

// Parameters become the arguments that they were given.
FlowReach::State FlowReach::across(const FlowEnd::Target& target) {
  const std::vector<ValueId>& parameters = flow_.blocks[at(target.block)].parameters;
  const State& next = *before_[at(target.block)];
  State state = next;
  for (const ValueId each : parameters) {
    take(each, state);
    state.watched.erase(each);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (!target.arguments[k].is_value()) continue;
    const ValueId given = activity_.tensor(target.arguments[k].value);
    Reach& reach = state.reach[at(given)];
    reach = std::max(reach, next.reach[at(parameters[k])]);
    if (next.watched.contains(parameters[k])) state.watched.insert(given);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const bool is_read =
        next.reach[at(parameters[k])] != Reach::Never && !next.watched.contains(parameters[k]);
    if (is_read && target.arguments[k].is_value() &&
        state.watched.contains(activity_.tensor(target.arguments[k].value)))
      reads_watched_ = true;
  }
  return state;
}

void FlowReach::go_back(std::size_t block, State& state) {
  for (std::size_t k = flow_.blocks[block].steps.size(); k-- > 0;) step(block, k, state);
}

void FlowReach::step(std::size_t block, std::size_t k, State& state) {
  const Node& node = flow_.blocks[block].steps[k].node;
  Reach arrived = Reach::Never, target = Reach::Never;
  if (!node.is_constant() && node.writes()) {
    write(node, arrived, target, state);
  } else {
    for (const ValueId id : node.outputs) {
      arrived = std::max(arrived, take(id, state));
      state.watched.erase(id);
    }
  }
  steps_[block][k] = arrived;
  targets_[block][k] = target;
  if (arrived == Reach::Never || !activity_.is_recorded(node)) return;
  for (std::size_t i = replaces_target(node) ? 1 : 0; i < node.operands.size(); ++i)
    if (activity_.is_active(node.operands[i])) read(activity_.tensor(node.operands[i].value), arrived, state);
  const std::vector<ValueId>& renewed = views_.renewed_by(block, k);
  for (auto view = renewed.rbegin(); view != renewed.rend(); ++view)
    read(activity_.root(*view), take(*view, state), state);
}

void FlowReach::write(const Node& node, Reach& arrived, Reach& target, State& state) {
  const ValueId written = activity_.tensor(node.operands[0].value), root = activity_.root(written);
  target = take(root, state);
  arrived = written == root ? target : std::max(target, take(written, state));
  state.watched.erase(root);
  if (written != root && !shows_all(activity_, written)) state.reach[at(root)] = target;
}

// Behind it nothing has come to the tensor yet.
Reach FlowReach::take(ValueId id, State& state) {
  const Reach reach = std::exchange(state.reach[at(id)], Reach::Never);
  if (reach == Reach::Sometimes) uncertain_[at(id)] = true;
  return reach;
}

void FlowReach::read(ValueId id, Reach by, State& state) {
  if (by == Reach::Never) return;
  reads_watched_ = reads_watched_ || state.watched.contains(id);
  state.reach[at(id)] = std::max(state.reach[at(id)], by);
}

}  // namespace kiln::jit
