#include "jit/cpu/flow_liveness.h"

namespace kiln::jit {
namespace {

void add(const std::vector<Operand>& operands, ValueSet& live) {
  for (const Operand& each : operands)
    if (each.is_value()) live.insert(each.value);
}

std::vector<const FlowEnd::Target*> targets(const FlowEnd& end) {
  if (end.kind == FlowEnd::Kind::Leave) return {};
  if (end.kind == FlowEnd::Kind::Jump) return {&end.then};
  return {&end.then, &end.other};
}

// Are its results new memory? So it is of a view of a number.
bool makes_memory(const FlowGraph& flow, const Node& node) {
  return !node.writes() && !(node.is_view() && !flow.type(node.operands[0].value).is_number);
}

template <class F>
void until_nothing_changes(const F& step) {
  while (step()) {
  }
}

// By value: those of inputs and of results that `begins` says begin anew, given on by other steps and by
// jumps.
template <class F>
std::vector<ValueSet> followed(const FlowGraph& flow, const F& begins) {
  std::vector<ValueSet> shown(flow.values.size());
  const auto at = [&](ValueId id) -> ValueSet& { return shown[static_cast<std::size_t>(id)]; };
  const auto take = [&](ValueId to, const Operand& from) {
    if (!from.is_value() || flow.type(to).is_number) return false;
    const std::size_t before = at(to).size();
    at(to).insert(at(from.value).begin(), at(from.value).end());
    return at(to).size() != before;
  };
  for (std::size_t i = 0; i < flow.inputs.size(); ++i)
    at(static_cast<ValueId>(i)).insert(static_cast<ValueId>(i));
  until_nothing_changes([&] {
    bool changed = false;
    for (const FlowBlock& block : flow.blocks) {
      for (const FlowStep& step : block.steps) {
        for (const ValueId id : step.node.outputs) {
          changed = (begins(step.node) ? at(id).insert(id).second : take(id, step.node.viewed())) || changed;
        }
      }
      for (const FlowEnd::Target* const target : targets(block.end)) {
        const FlowBlock& to = flow.blocks[static_cast<std::size_t>(target->block)];
        for (std::size_t k = 0; k < to.parameters.size(); ++k)
          changed = take(to.parameters[k], target->arguments[k]) || changed;
      }
    }
    return changed;
  });
  return shown;
}

}  // namespace

std::vector<ValueSet> memory_shown(const FlowGraph& flow) {
  return followed(flow, [&flow](const Node& node) { return makes_memory(flow, node); });
}

std::vector<ValueSet> tensors_of(const FlowGraph& flow) {
  return followed(flow, [](const Node& node) { return !node.writes(); });
}

FlowLiveness::FlowLiveness(const FlowGraph& flow) : flow_(flow), into_(flow.blocks.size()) {
  until_nothing_changes([&] {
    bool changed = false;
    for (std::size_t i = flow.blocks.size(); i-- > 0;) {
      ValueSet live = before(static_cast<BlockId>(i), 0);
      add_exit(flow.blocks[i].interrupted, live);
      for (const ValueId each : flow.blocks[i].parameters) live.erase(each);
      changed = changed || live != into_[i];
      into_[i] = std::move(live);
    }
    return changed;
  });
}

ValueSet FlowLiveness::around(BlockId block, std::size_t step) const {
  ValueSet live = before(block, step + 1);
  add_uses(flow_.blocks[static_cast<std::size_t>(block)].steps[step], live);
  return live;
}

ValueSet FlowLiveness::before(BlockId block, std::size_t first) const {
  const FlowBlock& made = flow_.blocks[static_cast<std::size_t>(block)];
  ValueSet live;
  if (made.end.kind == FlowEnd::Kind::Leave) add_exit(made.end.exit, live);
  add({made.end.condition}, live);
  for (const FlowEnd::Target* const target : targets(made.end)) {
    add(target->arguments, live);
    const ValueSet& into = into_[static_cast<std::size_t>(target->block)];
    live.insert(into.begin(), into.end());
  }
  for (std::size_t k = made.steps.size(); k-- > first;) {
    for (const ValueId each : made.steps[k].node.outputs) live.erase(each);
    add_uses(made.steps[k], live);
  }
  return live;
}

void FlowLiveness::add_uses(const FlowStep& step, ValueSet& live) const {
  add(step.node.operands, live);
  add_exit(step.exit, live);
}

void FlowLiveness::add_exit(ExitId exit, ValueSet& live) const {
  if (exit >= 0) add(flow_.exits[static_cast<std::size_t>(exit)].values, live);
}

}  // namespace kiln::jit
