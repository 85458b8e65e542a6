// Owns the walk back along the tape of a program, with values of the joint graph as gradients.
#pragma once

#include "jit/autodiff/walk_parts.h"
#include "jit/graph/layouts.h"

namespace kiln::jit {

// What a walk goes through: the steps that it may take, and where it ends, in the order in which gradients
// are returned. Empty targets are not asked for.
struct WalkBounds {
  std::vector<bool> steps;  // by node of the tape
  std::vector<Edge> targets;
};

// Follows tensor/tape/engine.cpp: the same nodes in the same order, sums in the order of arrival.
class BackwardWalk {
 public:
  // `joint`, whose source is the functional graph that the tape speaks of, gets the steps.
  BackwardWalk(const Tape& tape, WalkBounds bounds, Rewriter& joint);

  // The gradients of the targets, from those of `roots`; absent where none arrives. The nodes of the program
  // must be there.
  std::vector<Operand> run(std::span<const Edge> roots, std::span<const Operand> root_grads);
  // The nodes whose rules ran, in order.
  const std::vector<int>& visited() const { return visited_; }

 private:
  struct Stop {
    bool needed = false;
    std::vector<Operand> grads;
  };
  Stop& stop(int n) { return stops_[static_cast<std::size_t>(n)]; }
  const TapeNode& node_at(int n) const { return tape_.nodes[static_cast<std::size_t>(n)]; }

  bool may_step(int n) const { return bounds_.steps[static_cast<std::size_t>(n)]; }
  // Does a target lie on the way back from here?
  bool leads(const Edge& edge) const;
  void visit(int n);
  void give(const Edge& edge, Operand grad);
  std::vector<Operand> differentiate(int n);
  std::vector<Operand> differentiate_op(int n);
  std::vector<Operand> differentiate_write(int n);

  Node like(int n) const;
  TraceOperand operand(const Operand& value);
  std::vector<Operand> apply(const Body& rule, const std::vector<TraceOperand>& operands, int n);

  const Tape& tape_;
  WalkBounds bounds_;
  Rewriter& joint_;
  std::vector<int> source_producers_;
  Producers producers_;
  std::vector<Stop> stops_;
  std::vector<int> visited_;
};

}  // namespace kiln::jit
