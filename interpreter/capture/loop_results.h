// Owns a loop that has run in the recorded call, and what it was given there.
#pragma once

#include <memory>
#include <vector>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/capture/observe.h"
#include "jit/runtime/loop_function.h"

namespace kiln::interp::capture {

// A loop that has run in the recorded call.
struct Tracer::LoopResults {
  std::unique_ptr<LoopFlow> flow;
  std::shared_ptr<const Op> op;
  std::vector<jit::FlowAsOp::Place> places;  // by value of the exit
  Tensors results;
};

// The register or value that an input of the loop is found in.
const Value* value_of_input(const LoopFlow& loop, const LoopFlow::Input& input, const Frame& frame,
                            SourceValues& found);

}  // namespace kiln::interp::capture
