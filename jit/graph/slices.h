// Owns chains of slices in one form: how many elements they leave out along each dimension.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "jit/graph/rewrite.h"

namespace kiln::jit {

// So many elements are left out along a dimension, in front and at the end.
struct Cut {
  std::int64_t front = 0, end = 0;
  friend auto operator<=>(const Cut&, const Cut&) = default;
};
using Cuts = std::vector<Cut>;  // by dimension
// What is left by first `a` and then `b`.
Cuts joined(const Cuts& a, const Cuts& b);

// What a chain of slices shows: a box of `base`.
struct Box {
  ValueId base = Operand::kAbsent;
  Cuts cuts;
  friend auto operator<=>(const Box&, const Box&) = default;
};
// Is the node a slice with step 1 that leaves out as many elements for all values of the symbols?
bool is_box(const Graph& graph, const Node& node);
// The value is its own box where no such slice gives it.
Box box_of(const Graph& graph, std::span<const int> producers, ValueId id);

// Appends the slices that show a box of a value of the rewriter's graph, one for each dimension that is cut.
ValueId append_box(Rewriter& rewriter, ValueId base, const Cuts& cuts, const Node& like);
// The sizes of a box.
Dims sizes_within(Dims sizes, const Cuts& cuts);

}  // namespace kiln::jit
