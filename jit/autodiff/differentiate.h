// Owns making one graph of a program and its derivative: the joint graph.
#pragma once

#include <optional>

#include "jit/autodiff/replay.h"

namespace kiln::jit {

// A joint graph computes what the program does, and gradients: of every wanted input, from the gradients of
// what leaves the program. It has the program's inputs, then one of Role::Grad for each of `given`, of that
// result's type and row by row in memory; it returns the program's outputs, then one gradient per wanted
// input, `none` where nothing given depends on it. The nodes of the program come first. A node of the
// derivative names the value whose gradient it carries on as its origin, and has the place of the node that
// made it.
struct Joint {
  Graph graph;
  int outputs = 0;            // how many are the program's
  std::vector<int> wanted;    // the inputs of the program whose gradients follow, where inputs are asked for
  std::size_t incoming = 0;   // how many inputs are of Role::Grad
  std::vector<Result> given;  // the results that they are gradients of, where they are of results
  // Until passes change the graph: how many nodes, the first ones, are the program's; where the values of
  // Derivation::functional() are; the nodes of the tape whose rules ran, in order.
  std::optional<std::size_t> program_nodes;
  std::vector<ValueId> values;
  std::vector<int> visited;
};

// A program with what the tape would remember of it: what joint graphs for any gradients are made of. The
// graph is captured, without composite ops that give views, or functional. `wanted`: per input; integers have
// no gradient and are left out.
class Derivation {
 public:
  // Throws OpError, as `differentiate`.
  Derivation(const Graph& graph, const std::vector<bool>& wanted);
  Derivation(const Derivation&) = delete;
  Derivation& operator=(const Derivation&) = delete;

  const Graph& program() const { return program_; }
  const Graph& functional() const { return functional_; }  // what the tape speaks of
  const Tape& tape() const { return tape_; }

  // A gradient that comes in: of what leaves the program, of a value inside, or the sum so far of an input.
  struct Incoming {
    Edge edge;
    Type type;
    std::string name;
  };
  // Is what came from there an input as it was given?
  bool is_input(const Edge& edge) const { return tape_.nodes[static_cast<std::size_t>(edge.node)].is_input; }
  // Has a wanted input a part in what came from there?
  bool reaches_input(const Edge& edge) const;
  // Of the results that a wanted input has a part in.
  std::vector<std::pair<Result, Incoming>> of_results() const;
  // One that arrives at this place of the tape.
  Incoming at(const Edge& edge) const;
  // The gradients of all wanted inputs, and what arrives at other places on the way.
  Joint joint(std::span<const Incoming> incoming, std::span<const Edge> also = {}) const;
  // Of a part of the walk back, which ends at `ends`: the gradients of the targets, of which empty ones are
  // not asked for.
  Joint joint(std::span<const Incoming> incoming, std::span<const Edge> targets,
              std::span<const Edge> ends) const;

 private:
  Replayed replayed() const { return {program_, form_, wanted_}; }
  int input_of(const Edge& edge) const;  // -1: it is none
  const std::string& name_at(const Edge& edge) const;

  Graph program_;
  std::vector<bool> wanted_;
  Functionalized form_;
  Graph functional_;
  Tape tape_;
  std::vector<bool> reaching_;  // by node of the tape: a wanted input has a part in it
};

// The graph is captured, without composite ops that give views, or functional. Gradients equal those of the
// tape to the bit: its nodes are visited in its order. So this runs before passes that merge or split nodes.
// `wanted`: per input; integers have no gradient and are left out. `given`: the results that gradients come
// in for; none: all that depend on a wanted input. Absent ones are not the same as zeros, as no path of
// theirs is run. Throws OpError: Autograd where the tape throws it in backward, Capture for what has no
// symbolic form.
Joint differentiate(const Graph& graph, const std::vector<bool>& wanted,
                    const std::optional<std::vector<Result>>& given = std::nullopt);

}  // namespace kiln::jit
