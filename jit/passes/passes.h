// Owns the names of the passes: each takes a graph and gives a graph, and is one file beside this one. One
// that finds nothing to do gives what it was given, and copies nothing.
#pragma once

#include "jit/graph.h"

namespace kiln::jit {

// Composite ops that give views, as `reshape` where strides allow it, become the views that they are.
Graph expand_views(Graph graph);

// What functionalization leaves behind: view ops, or only copies.
enum class Remove : std::uint8_t { Mutations, MutationsAndViews };
// No writes are left: results are values, writes to what the caller gave are effects. The graph must have no
// composite ops that give views. Throws OpError (Capture) for what has no such form.
Graph functionalize(const Graph& graph, Remove remove = Remove::Mutations);
// Likewise, of a captured graph, with the values that each captured node was given and made. A write makes
// what the op computes, before it is cast and put into the base.
struct Functionalized {
  struct Values {
    std::vector<Operand> operands;
    std::vector<ValueId> results;
  };
  Graph graph;
  std::vector<Values> nodes;
};
Functionalized functionalize_values(const Graph& graph);

// Ops that the tape sees as the smaller ops of their bodies become these. Those that may raise stay where no
// gradient goes to a `wanted` input: the tape does not see them there, and their bodies would not raise.
Graph expand_recorded(Graph graph, const std::vector<bool>& wanted);
// Composite ops become the smaller ops of their bodies.
Graph decompose(Graph graph);
// Reductions that are several combinations become these where the kernel that computes their rows can take
// them in.
Graph open_reductions(Graph graph);
// What is known before the graph runs is computed now: constants of constants.
Graph fold(Graph graph);
// Without detours: views that lead back, copies nobody can tell from what they copy, operations with a
// neutral number. Every result keeps its bits.
Graph simplify(Graph graph);
// One node of several that compute the same.
Graph cse(Graph graph);
// What is written to a small part of an argument is written to a view of it.
Graph narrow_writes(Graph graph);
// Views of what is computed, read by what kernels compute, become the computation of views.
Graph lift_views(Graph graph);
// Without nodes whose results nothing needs.
Graph dce(Graph graph);
// Ops write over operands that are read for the last time, and parts of arguments are written alone.
Graph reinplace(Graph graph);

}  // namespace kiln::jit
