// Owns which steps of a flow gradients come to, when they come in for some of the tensors behind an exit.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "jit/flow/flow_views.h"

namespace kiln::jit {

// On the ways that lead from a place to the exit: does a gradient come to it?
enum class Reach : std::uint8_t { Never, Sometimes, Always };

class FlowReach {
 public:
  // Gradients come in for the tensors `given` at the exit. `watched`: one behind it, of which it is asked
  // whether others are computed from it (-1: none).
  FlowReach(const FlowGraph& flow, const FlowActivity& activity, const FlowViews& views, ExitId exit,
            const std::vector<ValueId>& given, ValueId watched = -1);

  // Of the results of a step, or of what it writes.
  Reach of_step(std::size_t block, std::size_t step) const { return steps_[block][step]; }
  Reach of_input(std::size_t input) const { return inputs_[input]; }
  // Of a parameter, where its block begins.
  Reach of_parameter(std::size_t block, ValueId parameter) const {
    return before_[block] ? before_[block]->reach[at(parameter)] : Reach::Never;
  }
  // Before a write is undone: of what is written, as a whole.
  Reach of_target(std::size_t block, std::size_t step) const { return targets_[block][step]; }
  // Is the gradient of the tensor read where one comes in some runs alone?
  bool is_uncertain(ValueId tensor) const { return uncertain_[at(tensor)]; }
  bool reads_watched() const { return reads_watched_; }

 private:
  struct State {
    std::vector<Reach> reach;   // by tensor
    std::set<ValueId> watched;  // which of the names at this place is the tensor that is watched
    friend bool operator==(const State& a, const State& b) {
      return a.reach == b.reach && a.watched == b.watched;
    }
  };
  std::optional<State> at_end(std::size_t block);
  State across(const FlowEnd::Target& target);
  void go_back(std::size_t block, State& state);
  void step(std::size_t block, std::size_t k, State& state);
  void write(const Node& node, Reach& arrived, Reach& target, State& state);
  void read(ValueId id, Reach by, State& state);
  Reach take(ValueId id, State& state);
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowViews& views_;
  ExitId exit_;
  State behind_;                              // at the exit
  std::vector<std::optional<State>> before_;  // where blocks begin
  std::vector<std::vector<Reach>> steps_, targets_;
  std::vector<Reach> inputs_;
  std::vector<bool> uncertain_;  // by tensor
  bool reads_watched_ = false;
};

// Does the step leave nothing of its first operand, as `copy_`?
bool replaces_target(const Node& node);
// Is each element of the root seen through the view, as the tape knows it?
bool shows_all(const FlowActivity& activity, ValueId view);

}  // namespace kiln::jit
