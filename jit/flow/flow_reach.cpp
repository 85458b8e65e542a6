#include "jit/flow/flow_reach.h"

#include <algorithm>
#include <utility>

namespace kiln::jit {
namespace {

Reach merged(Reach a, Reach b) { return a == b ? a : Reach::Sometimes; }
std::uint8_t more(std::uint8_t terms) { return terms == 0 ? 1 : 2; }

}  // namespace

FlowReach::FlowReach(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves, ExitId exit,
                     const std::vector<ValueId>& given, ValueId watched)
    : flow_(flow),
      activity_(activity),
      moves_(moves),
      exit_(exit),
      before_(flow.blocks.size()),
      uncertain_(flow.values.size(), false),
      summed_apart_(flow.values.size(), false) {
  behind_.reach.assign(flow.values.size(), Reach::Never);
  behind_.terms.assign(flow.values.size(), 0);
  for (const ValueId id : given) {
    behind_.reach[at(activity.tensor(id))] = Reach::Always;
    behind_.terms[at(activity.tensor(id))] = 1;
  }
  if (watched >= 0) behind_.watched.insert(activity.tensor(watched));
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    std::vector<std::vector<Moved>>& steps = moved_.emplace_back();
    for (std::size_t k = 0; k < flow.blocks[b].steps.size(); ++k)
      steps.emplace_back(moves.of_step(b, k).size());
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
    for (std::size_t id = 0; id < state.reach.size(); ++id) {
      found->reach[id] = merged(found->reach[id], state.reach[id]);
      found->terms[id] = std::max(found->terms[id], state.terms[id]);
    }
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
    const std::uint8_t terms = next.terms[at(parameters[k])];
    std::uint8_t& all = state.terms[at(given)];
    if (all > 0 && terms > 1) reordered_ = given;
    all = all == 0 || terms == 0 ? std::max(all, terms) : 2;
    if (terms > 1 && given != parameters[k]) summed_apart_[at(given)] = true;
    state.reach[at(given)] = std::max(state.reach[at(given)], next.reach[at(parameters[k])]);
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
  const bool writes = !node.is_constant() && node.writes();
  if (writes) state.watched.erase(activity_.root(node.operands[0].value));
  if (!writes)
    for (const ValueId id : node.outputs) state.watched.erase(id);
  const std::vector<GradientMove>& moves = moves_.of_step(block, k);
  for (std::size_t m = 0; m < moves.size(); ++m) {
    moved_[block][k][m] = take(moves[m], state);
    for (const ValueId id : moves[m].to) read(id, moved_[block][k][m].reach, state);
  }
}

Moved FlowReach::take(const GradientMove& move, State& state) {
  Moved moved;
  for (const ValueId id : move.from) {
    moved.from.push_back(take(id, state));
    moved.reach = std::max(moved.reach, moved.from.back());
  }
  const bool is_through_view = move.kind == GradientMove::Kind::Write && move.from.size() > 1;
  if (is_through_view && !shows_all(activity_, move.from[1], move.from[0])) {
    // What lies outside of the view goes on to what was there before.
    const std::size_t root = at(move.from[0]);
    state.reach[root] = moved.from[0];
    state.terms[root] = moved.from[0] == Reach::Never ? 0 : 2;
  }
  return moved;
}

// Behind it nothing has come to the tensor yet.
Reach FlowReach::take(ValueId id, State& state) {
  state.terms[at(id)] = 0;
  const Reach reach = std::exchange(state.reach[at(id)], Reach::Never);
  if (reach == Reach::Sometimes) uncertain_[at(id)] = true;
  return reach;
}

void FlowReach::read(ValueId id, Reach by, State& state) {
  if (by == Reach::Never) return;
  reads_watched_ = reads_watched_ || state.watched.contains(id);
  state.reach[at(id)] = std::max(state.reach[at(id)], by);
  state.terms[at(id)] = more(state.terms[at(id)]);
}

}  // namespace kiln::jit
