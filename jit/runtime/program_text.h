// Owns the text of a program: what a call does, in order, and what becomes of its memory.
#pragma once

#include "jit/graph/graph.h"
#include "jit/loops/code_line.h"

namespace kiln::jit {

// A line for each instruction, in the order in which they run: `kernel`, `launch` (kernels of which the
// elements are computed together), `call` of a library, `alias` (a view), `copies` (of one), `callback` into
// the program, `write`, `base`, `constant`, `number`; then effects and what is returned. Comments say how
// many bytes an instruction allocates at the hints, over which value it computes if nobody else holds that
// memory, and which values it is the last to read. After them the buffers that are the call's: their bytes,
// and with which instruction they die. Of a graph that could be run; `takes_arguments` as of
// `make_program`. Each line with the node of the graph that it is about.
CodeLines program_lines(const Graph& graph, bool takes_arguments = false);

}  // namespace kiln::jit
