#include "jit/flow/flow_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "jit/flow/flow_reach.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {
namespace {

// Which tensors require gradients where the flow is left, on the ways that lead there.
class RequiringGradients {
 public:
  RequiringGradients(const FlowGraph& flow, const FlowActivity& activity, const std::vector<bool>& wanted)
      : flow_(flow), activity_(activity), before_(flow.blocks.size()), behind_(flow.blocks.size()) {
    before_[0] = State(flow.values.size(), Reach::Never);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) (*before_[0])[i] = Reach::Always;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < flow.blocks.size(); ++b) changed = block(b) || changed;
    }
  }

  Reach at_exit(ExitId exit, ValueId id) const {
    std::optional<Reach> found;
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      const FlowEnd& end = flow_.blocks[b].end;
      if (end.kind != FlowEnd::Kind::Leave || end.exit != exit || !behind_[b]) continue;
      const Reach here = (*behind_[b])[at(activity_.root(id))];
      found = !found || *found == here ? here : Reach::Sometimes;
    }
    return found.value_or(Reach::Never);
  }
  // Of what the step computes.
  Reach of_step(std::size_t b, std::size_t step) const {
    State state = *before_[b];
    for (std::size_t k = 0; k < step; ++k) apply(flow_.blocks[b].steps[k].node, state);
    return computed(flow_.blocks[b].steps[step].node, state);
  }
  bool is_come_to(std::size_t b) const { return before_[b].has_value(); }

 private:
  using State = std::vector<Reach>;  // by root
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  bool block(std::size_t b) {
    if (!before_[b]) return false;
    State state = *before_[b];
    for (const FlowStep& each : flow_.blocks[b].steps) apply(each.node, state);
    bool changed = behind_[b] != state;
    behind_[b] = std::move(state);
    each_target(flow_.blocks[b].end,
                [&](const FlowEnd::Target& target) { changed = jump(b, target) || changed; });
    return changed;
  }
  bool jump(std::size_t from, const FlowEnd::Target& target) {
    State given = *behind_[from];
    const std::vector<ValueId>& parameters = flow_.blocks[at(target.block)].parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (target.arguments[k].is_value())
        given[at(parameters[k])] = (*behind_[from])[at(activity_.root(target.arguments[k].value))];
    }
    std::optional<State>& known = before_[at(target.block)];
    if (!known) {
      known = std::move(given);
      return true;
    }
    bool changed = false;
    for (std::size_t id = 0; id < given.size(); ++id) {
      if ((*known)[id] == given[id] || (*known)[id] == Reach::Sometimes) continue;
      (*known)[id] = Reach::Sometimes;
      changed = true;
    }
    return changed;
  }

  Reach computed(const Node& node, const State& state) const {
    Reach found = Reach::Never;
    if (!activity_.is_recorded(node)) return found;
    for (const Operand& each : node.operands)
      if (activity_.is_active(each)) found = std::max(found, state[at(activity_.root(each.value))]);
    return found;
  }
  void apply(const Node& node, State& state) const {
    const Reach found = computed(node, state);
    for (const ValueId id : node.outputs) {
      const ValueId root = activity_.root(id);
      if (activity_.tensor(id) == id && root == id) state[at(id)] = found;
      if (!node.is_constant() && node.writes()) state[at(root)] = std::max(state[at(root)], found);
    }
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  std::vector<std::optional<State>> before_, behind_;
};

// Which tensors may be views of which others where the flow is left, whatever they are called there.
class Shown {
 public:
  Shown(const FlowGraph& flow, const FlowActivity& activity)
      : activity_(activity), roots_(flow.values.size()), is_view_(flow.values.size(), false) {
    for (std::size_t id = 0; id < roots_.size(); ++id) {
      const auto value = static_cast<ValueId>(id);
      roots_[id] = {activity.root(value)};
      is_view_[id] = activity.root(value) != activity.tensor(value);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const FlowBlock& block : flow.blocks) {
        each_target(block.end, [&](const FlowEnd::Target& target) {
          const std::vector<ValueId>& parameters = flow.blocks[at(target.block)].parameters;
          for (std::size_t k = 0; k < parameters.size(); ++k)
            if (target.arguments[k].is_value())
              changed = add(parameters[k], target.arguments[k].value) || changed;
        });
      }
    }
  }
  bool may_be_view(ValueId id) const { return is_view_[at(id)]; }
  // Those that it is, or is a view of.
  std::set<ValueId> roots(ValueId id) const {
    std::set<ValueId> all;
    for (const ValueId root : roots_[at(id)]) all.insert(roots_[at(root)].begin(), roots_[at(root)].end());
    return all;
  }

 private:
  static std::size_t at(std::int64_t id) { return static_cast<std::size_t>(id); }
  bool add(ValueId parameter, ValueId argument) {
    std::set<ValueId>& known = roots_[at(parameter)];
    const std::size_t before = known.size();
    const std::set<ValueId> more = roots(argument);
    known.insert(more.begin(), more.end());
    const bool shows = is_view_[at(argument)] || is_view_[at(activity_.root(argument))];
    const bool changed = known.size() != before || (shows && !is_view_[at(parameter)]);
    if (shows) is_view_[at(parameter)] = true;
    return changed;
  }

  const FlowActivity& activity_;
  std::vector<std::set<ValueId>> roots_;
  std::vector<bool> is_view_;
};

class OutputFinder {
 public:
  OutputFinder(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
               const std::vector<bool>& wanted)
      : flow_(flow),
        activity_(activity),
        moves_(moves),
        requiring_(flow, activity, wanted),
        shown_(flow, activity) {}

  FlowOutputs run() {
    const std::vector<bool> leaving = ends_of(flow_);
    for (std::size_t e = 0; e < leaving.size(); ++e) {
      if (!leaving[e]) continue;
      const auto exit = static_cast<ExitId>(e);
      find(exit);
      check_apart(exit);
      check_views(exit);
    }
    return std::move(made_);
  }

 private:
  bool is_input(ValueId id) const { return static_cast<std::size_t>(id) < flow_.inputs.size(); }

  void find(ExitId exit) {
    std::set<ValueId> known;
    const std::vector<Operand>& values = flow_.exits[static_cast<std::size_t>(exit)].values;
    made_.by_exit[exit];
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!activity_.is_active(values[k])) continue;
      const ValueId tensor = activity_.tensor(values[k].value);
      if (is_input(tensor) || !known.insert(tensor).second) continue;
      FlowOutput output;
      output.value = k;
      add(exit, tensor, std::move(output));
    }
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (!activity_.is_active(id) || !activity_.is_written(id)) continue;
      FlowOutput output;
      output.written = id;
      add(exit, id, std::move(output));
    }
  }
  void add(ExitId exit, ValueId id, FlowOutput output) {
    const Reach requires_gradients = requiring_.at_exit(exit, id);
    if (requires_gradients == Reach::Never) return;
    if (requires_gradients == Reach::Sometimes) output.flags = flags_of(id);
    output.depends = activity_.depends(id);
    output.grad_fn = grad_fn_of(id, !output.value);
    made_.by_exit[exit].push_back(std::move(output));
  }

  // Of the step that makes it, or writes it; of a parameter that of what it was given last.
  std::string grad_fn_of(ValueId id, bool is_written) const {
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& step : block.steps) {
        const Node& node = step.node;
        if (node.is_constant()) continue;
        if (is_written && node.writes() && activity_.root(node.operands[0].value) == id)
          return activity_.tensor(node.operands[0].value) == id ? tape::name_of_backward(*node.op)
                                                                : "WriteThroughViewBackward";
        if (!is_written && std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
          return tape::name_of_backward(*node.op);
      }
    }
    return grad_fn_of_parameter(id);
  }
  std::string grad_fn_of_parameter(ValueId id) const {
    std::string found = "LoopBackward";
    for (const FlowBlock& from : flow_.blocks) {
      each_target(from.end, [&](const FlowEnd::Target& target) {
        const FlowBlock& to = flow_.blocks[static_cast<std::size_t>(target.block)];
        for (std::size_t k = 0; k < to.parameters.size(); ++k) {
          if (to.parameters[k] != id || !activity_.is_active(target.arguments[k])) continue;
          const ValueId given = activity_.tensor(target.arguments[k].value);
          if (given != id && !is_input(given) && !is_parameter(given)) found = grad_fn_of(given, false);
        }
      });
    }
    return found;
  }
  bool is_parameter(ValueId id) const {
    return std::any_of(flow_.blocks.begin(), flow_.blocks.end(), [id](const FlowBlock& each) {
      return std::find(each.parameters.begin(), each.parameters.end(), id) != each.parameters.end();
    });
  }

  // The writes by which it may come to require gradients.
  std::vector<std::size_t> flags_of(ValueId id) {
    std::vector<std::size_t> flags;
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      for (std::size_t k = 0; k < flow_.blocks[b].steps.size(); ++k) {
        const Node& node = flow_.blocks[b].steps[k].node;
        if (node.is_constant() || !node.writes() || activity_.root(node.operands[0].value) != id) continue;
        if (!requiring_.is_come_to(b)) continue;
        const Reach here = reach_of_source(b, k);
        if (here == Reach::Never) continue;
        if (here == Reach::Sometimes) refuse_some_runs(id);
        flags.push_back(flag(b, k));
      }
    }
    if (flags.empty()) refuse_some_runs(id);
    return flags;
  }
  // Of what is written, apart from the target.
  Reach reach_of_source(std::size_t b, std::size_t k) const {
    const Node& node = flow_.blocks[b].steps[k].node;
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      if (!activity_.is_active(node.operands[i])) continue;
      return activity_.root(node.operands[i].value) == activity_.root(node.operands[0].value)
                 ? Reach::Sometimes
                 : requiring_.of_step(b, k);
    }
    return Reach::Never;
  }
  std::size_t flag(std::size_t block, std::size_t step) {
    for (std::size_t k = 0; k < made_.flags.size(); ++k)
      if (made_.flags[k].block == block && made_.flags[k].step == step) return k;
    made_.flags.push_back({block, step});
    return made_.flags.size() - 1;
  }
  std::string text_of(ValueId id) const {
    const std::string& name = flow_.values[static_cast<std::size_t>(id)].name;
    return name.empty() ? "a result" : "`" + name + "`";
  }
  [[noreturn]] void refuse_some_runs(ValueId id) const {
    refuse_flow(fmt::format("{} requires gradients in some runs of the loop and not in others", text_of(id)));
  }

  // Of a tensor that is written behind the loop the tape finds the views, which it does not of one node.
  void check_views(ExitId exit) const {
    const std::vector<FlowOutput>& outputs = made_.by_exit.at(exit);
    for (const FlowOutput& one : outputs) {
      const ValueId view = value_of(flow_, exit, one);
      if (!shown_.may_be_view(view)) continue;
      const std::set<ValueId> roots = shown_.roots(view);
      const auto input =
          std::find_if(roots.begin(), roots.end(), [this](ValueId id) { return is_input(id); });
      if (input != roots.end())
        refuse_flow(fmt::format("a view of {} is kept behind the loop", text_of(*input)));
      for (const FlowOutput& other : outputs) {
        if (&one == &other) continue;
        for (const ValueId root : shown_.roots(value_of(flow_, exit, other)))
          if (roots.contains(root)) refuse_flow("two tensors behind the loop are views of one");
      }
    }
  }

  void check_apart(ExitId exit) const {
    const std::vector<FlowOutput>& outputs = made_.by_exit.at(exit);
    for (const FlowOutput& one : outputs) {
      for (const FlowOutput& other : outputs) {
        if (&one == &other) continue;
        const ValueId watched = value_of(flow_, exit, one);
        const FlowReach reach(flow_, activity_, moves_, exit, {value_of(flow_, exit, other)}, watched);
        if (reach.reads_watched())
          refuse_flow(
              fmt::format("the gradient of {} may be asked for, from which another result is computed",
                          text_of(watched)));
      }
    }
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowMoves& moves_;
  RequiringGradients requiring_;
  Shown shown_;
  FlowOutputs made_;
};

}  // namespace

ValueId value_of(const FlowGraph& flow, ExitId exit, const FlowOutput& output) {
  if (!output.value) return output.written;
  return flow.exits[static_cast<std::size_t>(exit)].values[*output.value].value;
}

FlowOutputs outputs_of(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
                       const std::vector<bool>& wanted) {
  return OutputFinder(flow, activity, moves, wanted).run();
}

}  // namespace kiln::jit
