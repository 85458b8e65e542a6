// Owns making one graph of a program and its derivative: the joint graph.
#pragma once

#include <optional>

#include "jit/history.h"

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
  std::vector<int> wanted;    // the inputs of the program whose gradients follow
  std::vector<Result> given;  // what the inputs of Role::Grad are gradients of
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
