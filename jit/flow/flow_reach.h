// Owns which steps of a flow gradients come to, when they come in for some of the tensors behind an exit.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/flow/flow_moves.h"
#include "tensor/error.h"

namespace kiln::jit {

// Why a flow has no derivative.
[[noreturn]] inline void refuse_flow(std::string reason) {
  throw OpError(ErrorKind::Capture, std::move(reason));
}

// On the ways that lead from a place to the exit: does a gradient come to it?
enum class Reach : std::uint8_t { Never, Sometimes, Always };

// What a move finds where it takes gradients.
struct Moved {
  Reach reach = Reach::Never;  // of what it takes in all: where it is Never, there is nothing to move
  std::vector<Reach> from;     // of each tensor
};

class FlowReach {
 public:
  // Gradients come in for the tensors `given` at the exit. `watched`: one behind it, of which it is asked
  // whether others are computed from it (-1: none).
  FlowReach(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves, ExitId exit,
            const std::vector<ValueId>& given, ValueId watched = -1);

  // By the number of the move, of those of the step.
  const Moved& of_move(std::size_t block, std::size_t step, std::size_t move) const {
    return moved_[block][step][move];
  }
  Reach of_input(std::size_t input) const { return inputs_[input]; }
  // Of a parameter, where its block begins.
  Reach of_parameter(std::size_t block, ValueId parameter) const {
    return before_[block] ? before_[block]->reach[at(parameter)] : Reach::Never;
  }
  // Is the gradient of the tensor taken anywhere where one comes in some runs alone? Then it is known only on
  // the way back whether one came.
  bool is_uncertain(ValueId tensor) const { return uncertain_[at(tensor)]; }
  // May several gradients be added to each other before they are added to that of the input? Those of a
  // parameter are that the input was given for.
  bool is_summed_apart(std::size_t input) const { return summed_apart_[input]; }
  // A tensor to whose gradient a sum of several is added that were added to each other before, as gradients
  // of a parameter that it was given for, where the tape adds one after the other.
  std::optional<ValueId> reordered() const { return reordered_; }
  bool reads_watched() const { return reads_watched_; }

 private:
  struct State {
    std::vector<Reach> reach;         // by tensor
    std::vector<std::uint8_t> terms;  // by tensor: of how many what came to it may be the sum; 2: or more
    std::set<ValueId> watched;        // which of the names at this place is the tensor that is watched
    friend bool operator==(const State& a, const State& b) {
      return a.reach == b.reach && a.terms == b.terms && a.watched == b.watched;
    }
  };
  std::optional<State> at_end(std::size_t block);
  State across(const FlowEnd::Target& target);
  void go_back(std::size_t block, State& state);
  void step(std::size_t block, std::size_t k, State& state);
  Moved take(const GradientMove& move, State& state);
  void read(ValueId id, Reach by, State& state);
  Reach take(ValueId id, State& state);
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowMoves& moves_;
  ExitId exit_;
  State behind_;                                        // at the exit
  std::vector<std::optional<State>> before_;            // where blocks begin
  std::vector<std::vector<std::vector<Moved>>> moved_;  // by block and step
  std::vector<Reach> inputs_;
  std::vector<bool> uncertain_, summed_apart_;  // by tensor
  std::optional<ValueId> reordered_;
  bool reads_watched_ = false;
};

}  // namespace kiln::jit
