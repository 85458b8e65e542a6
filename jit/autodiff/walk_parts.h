// Owns the way of the walk back along the tape of a program: its order, and where it is cut into parts so
// that what leaves the program between two of them can be asked for its gradient.
#pragma once

#include <span>
#include <vector>

#include "jit/autodiff/tape.h"

namespace kiln::jit {

// The nodes on the way back from `roots`, in the order in which they are visited. Where fewer gradients come
// in the order is the same, as edges lead to older nodes, but for views that were taken anew for a node:
// these lie behind that node alone.
std::vector<int> walk_order(const Tape& tape, std::span<const Edge> roots);

// A part of the walk. Its gradients come in at `outputs` and go on to `targets`.
struct WalkPart {
  std::vector<int> steps;     // nodes of the tape, in the order of the walk
  std::vector<Edge> outputs;  // what leaves the program, then what steps of earlier parts were computed from
  std::vector<Edge> targets;  // inputs, and outputs of later parts; leaves last that the tape comes to first
};

// The whole walk back from `leaving`, in parts such that no step of a part lies on the way to one of `seen`
// in the same part: when a part begins, all of the gradient has arrived at those of `seen` that it begins
// with.
std::vector<WalkPart> cut_walk(const Tape& tape, std::span<const Edge> leaving, std::span<const Edge> seen);

}  // namespace kiln::jit
