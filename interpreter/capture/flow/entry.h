// Owns a loop's flow graph that can run: under its guards it replaces the loop's bytecode, from the first
// instruction of the body to one of its exits.
#pragma once

#include <optional>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/vm/vm.h"
#include "jit/pipeline/loop_node.h"

namespace kiln::interp::capture {

struct FlowEntry {
  LoopFlow loop;
  std::shared_ptr<jit::RunnableFlow>
      run;  // also of graphs that have the loop as a node; null: `differentiated`
  std::shared_ptr<jit::DifferentiatedFlow> differentiated;  // of a loop that records gradients
  std::string form;                                         // "machine code"
  std::int64_t kept_bytes = 0;                              // for backward, of all runs
  std::int64_t refused = 0;                                 // times that it did not run, or had to be undone
  std::string refusal;                                      // why, the last time
  std::size_t code_bytes = 0;
  std::int64_t runs = 0;
  std::int64_t trips = 0;           // of all loops of the flow
  std::vector<std::int64_t> exits;  // how often it left by each
  std::int64_t short_runs = 0;      // that left within the loop after few trips

  void visit_references(ReferenceVisitor& visitor) const { loop.visit_references(visitor); }
};

// How many iterations the loop has left in the frame; the largest int where that is not known.
std::int64_t trips_left(const LoopFlow& loop, const Frame& frame);

// What a flow is given by the frame that stands at the first instruction of its loop's body.
using FlowInputs = std::vector<jit::FlowValue>;
// Nothing where a guard does not hold, or a value is not of the type of its input.
std::optional<FlowInputs> inputs_of(Vm& vm, const LoopFlow& loop);

// Runs the flow and puts the frame where it left.
struct FlowRun {
  jit::ExitId exit = 0;
  std::int64_t trips = 0;                   // of all loops of the flow
  std::optional<std::int64_t> outer_trips;  // of the loop itself, where that is known
};
// Nothing where gradients are recorded and cannot be as the program records them: the loop is untouched then.
std::optional<FlowRun> run_flow(Vm& vm, FlowEntry& entry, const FlowInputs& inputs);

}  // namespace kiln::interp::capture
