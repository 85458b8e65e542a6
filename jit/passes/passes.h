// Owns the functions of the passes: each takes a graph and gives a graph, and is one file beside this one.
// One that finds nothing to do gives what it was given, and copies nothing. Only the table of passes
// (jit/recipes.h) and other passes name them.
#pragma once

#include "jit/passes/functionalize.h"

namespace kiln::jit {

// Composite ops that give views, as `reshape` where strides allow it, become the views that they are.
Graph expand_views(Graph graph);

// No writes are left: results are values, writes to what the caller gave are effects. The graph must have no
// composite ops that give views. Throws OpError (Capture) for what has no such form.
Graph functionalize(const Graph& graph, Remove remove = Remove::Mutations);

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
// Nodes that one kernel computes become one node (jit/kernel_op.h). Of functional graphs; others stay.
Graph group(Graph graph);
// Groups become kernels without code, which know their loops. Nodes that only their views were for stay.
Graph lower_groups(Graph graph);
// Kernels get machine code. Throws NoCompiler when there is no compiler.
Graph compile_kernels(Graph graph);
// Ops write over operands that are read for the last time, and parts of arguments are written alone.
Graph reinplace(Graph graph);

}  // namespace kiln::jit
