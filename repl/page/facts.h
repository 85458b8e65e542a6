// Owns what a page tells of a call beside its stages: passes, costs, what is kept, what was assumed.
#pragma once

#include "interpreter/host/graph_stages.h"
#include "repl/page/page.h"
#include "repl/session.h"

namespace kiln::repl {

// The passes that a captured, forward or backward graph goes through on its way to a program, with what each
// changes.
PagePasses pass_steps(std::string title, const interp::CapturedGraph& part);

// What the nodes of a fused graph cost on these arguments; `table` is its table.
PageKernels kernel_rows(const jit::Graph& fused, Inputs arguments, const PageTable& table);

// What is kept for the backward graph and what is computed again; `joint` is the table of the joint graph.
PageCut saved_rows(const jit::PartitionReport& report, const PageTable& joint);

// Guards, breaks, and what became of earlier calls of the function.
std::vector<PageNote> notes_on(Session& session, const interp::Value& function,
                               const interp::host::CapturedCall& call);

}  // namespace kiln::repl
