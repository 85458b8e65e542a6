// Owns which loops become nodes of captured graphs, and by which exits they may be left there.
#pragma once

#include <vector>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/vm/frame.h"

namespace kiln::interp::capture {

struct FlowPlace;

// Is the loop, at the first instruction of whose body the frame stands, better one node than unrolled? It is
// where its iterations are many, but for few ops on many elements, which kernels have together when they are
// unrolled; and where it asks for elements, at which a graph would end. `place`: where it runs as a flow by
// itself; null: it never did.
bool is_worth_a_node(const Frame& frame, const Loop& loop, const jit::FlowGraph& flow,
                     const FlowPlace* place);

// The exits behind the loop, by how the frame goes on.
std::vector<std::vector<jit::ExitId>> ways_out(const LoopFlow& loop, const Loop& of);
// Can capture follow what the loop reads, and what changes behind the exit? Not variables of modules and
// closures, nor lists.
bool may_be_followed(const LoopFlow& loop, jit::ExitId exit);

}  // namespace kiln::interp::capture
