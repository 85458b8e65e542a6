// Owns which loops become nodes of captured graphs, and by which exits they may be left there.
#pragma once

#include <string>
#include <vector>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/vm/frame.h"

namespace kiln::interp::capture {

struct FlowPlace;

// Why a loop is no node, for people: "`x` requires gradients". Its end is unrolled, or by iterations.
struct NoNode {
  std::string reason;
};

// Does the loop go over a range that is too long to be unrolled?
bool goes_over_long_range(const Frame& frame, const Loop& loop);
// Throws NoNode where the loop, at the first instruction of whose body the frame stands, is better unrolled
// than a node: where its iterations are few, but for loops that ask for elements, at which a graph would end,
// those with loops within them unless the graph is only shown or written, and those whose number of
// iterations `varies`; and where they are few ops on many elements, which kernels have together. `place`:
// where it runs as a flow by itself; null: it never did. False for a loop by a condition, of which only a run
// tells how often it goes round: then `expect_long` is asked after it.
bool expect_worth_a_node(const Frame& frame, const Loop& loop, const jit::FlowGraph& flow,
                         const FlowPlace* place, bool varies, bool is_shown);
// Throws NoNode where a loop by a condition went round so few times, or gives a number by this exit: the
// graph would end where that is used, and does not where the loop is unrolled.
void expect_long(const LoopFlow& loop, jit::ExitId exit, std::int64_t iterations);

// The exits behind the loop, by how the frame goes on.
std::vector<std::vector<jit::ExitId>> ways_out(const LoopFlow& loop, const Loop& of);
// Throws NoNode where capture cannot follow what the loop reads, or what changes behind the exit.
void expect_followed(const LoopFlow& loop, jit::ExitId exit);

}  // namespace kiln::interp::capture
