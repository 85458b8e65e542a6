// Owns the walk back along the tape of a program, with values of the joint graph as gradients.
#pragma once

#include <queue>

#include "jit/history.h"
#include "jit/layouts.h"

namespace kiln::jit {

// Follows tensor/tape/engine.cpp: the same nodes in the same order, sums in the order of arrival.
class BackwardWalk {
 public:
  // `joint`, whose source is the functional graph that the tape speaks of, gets the steps. `wanted`: the
  // inputs of the tape whose gradients are asked for.
  BackwardWalk(const Tape& tape, const std::vector<bool>& wanted, Rewriter& joint);

  // Does a wanted input lie on the way back from here?
  bool reaches_wanted(const Edge& edge) const;
  // The gradients of the inputs of the tape, from those of `roots`; absent where none arrives. The nodes of
  // the program must be there.
  std::vector<Operand> run(std::span<const Edge> roots, std::span<const Operand> root_grads);
  // The nodes whose rules ran, in order.
  const std::vector<int>& visited() const { return visited_; }

 private:
  struct Stop {
    bool needed = false, reached = false;
    int pending = 0;  // edges into it that have not delivered yet
    std::vector<Operand> grads;
  };
  Stop& stop(int n) { return stops_[static_cast<std::size_t>(n)]; }
  const TapeNode& node_at(int n) const { return tape_.nodes[static_cast<std::size_t>(n)]; }

  template <class F>
  void visit_inputs_first(int root, std::vector<bool>& seen, const F& f);
  void mark_needed();
  void count_pending(std::span<const Edge> roots);
  void visit(int n);
  void give(const Edge& edge, Operand grad);
  std::vector<Operand> differentiate(int n);
  std::vector<Operand> differentiate_op(int n);
  std::vector<Operand> differentiate_write(int n);

  Node like(int n) const;
  TraceOperand operand(const Operand& value);
  std::vector<Operand> apply(const Body& rule, const std::vector<TraceOperand>& operands, int n);

  const Tape& tape_;
  Rewriter& joint_;
  std::vector<int> source_producers_;
  Producers producers_;
  std::vector<Stop> stops_;
  std::priority_queue<int> ready_;
  std::vector<int> visited_;
};

}  // namespace kiln::jit
