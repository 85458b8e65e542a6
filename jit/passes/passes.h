// Owns the functions of the passes: each takes a graph and gives a graph, and is one file beside this one.
// A pass that finds nothing to do returns its argument, and copies nothing. Only the table of passes
// (jit/passes/recipes.h) and other passes name them.
#pragma once

#include "jit/passes/functionalize.h"

namespace kiln::jit {

// Composite ops that give views, as `reshape` where strides allow it, become the views that they are.
Graph expand_views(Graph graph);

// Removes writes: results are values, and writes to the caller's tensors become effects. The graph must have
// no composite ops that give views. Throws OpError (Capture) for what has no such form.
Graph functionalize(const Graph& graph, Remove remove = Remove::Mutations);

// Composite ops become the smaller ops of their bodies.
Graph decompose(Graph graph);
// Reductions that are several combinations become these where the kernel that computes their rows can take
// them in.
Graph open_reductions(Graph graph);
// Computes values that depend on constants alone.
Graph fold(Graph graph);
// Removes detours: views that lead back, copies that make no visible difference, operations with a neutral
// number. Every result keeps its bits.
Graph simplify(Graph graph);
// Merges nodes that compute the same.
Graph cse(Graph graph);
// Turns a write that changes a small part of an argument into a write to a view of it.
Graph narrow_writes(Graph graph);
// Views between nodes of kernels move before the computation, which then reads the views.
Graph lift_views(Graph graph);
// Values that kernels read at shifted places are computed there, where that costs less than their way through
// memory (jit/loops/shifted_reads.h).
Graph inline_shifted(Graph graph);
// Removes nodes whose results nothing needs.
Graph dce(Graph graph);
// Nodes that one kernel computes become one node (jit/loops/kernel_op.h). Other graphs than functional ones
// stay as they are.
Graph group(Graph graph);
// Lowers groups to kernels without code. Nodes that only their views need stay.
Graph lower_groups(Graph graph);
// Kernels get machine code. Throws NoCompiler when there is no compiler.
Graph compile_kernels(Graph graph);
// Collectives begin as soon as their operands are there.
Graph start_early(Graph graph);
// Nothing waits for a collective before something needs it, and what one gives is computed with before the
// next is waited for.
Graph wait_late(Graph graph);
// Collectives that begin one after the other, of one kind and dtype, begin as one.
Graph bucket(Graph graph);
// Ops write over operands that are read for the last time, and parts of arguments are written alone.
Graph reinplace(Graph graph);

}  // namespace kiln::jit
