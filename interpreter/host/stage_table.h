// Owns the table of a call's stages: what each is, how much it computes, how long making it takes.
#pragma once

#include <string>
#include <vector>

#include "interpreter/host/graph_stages.h"

namespace kiln::interp::host {

struct StageSummary {
  std::string name;     // "functional", "fused forward"
  Value made;           // the graph or text; none where there is no such stage
  std::string missing;  // why the call has no such stage
  double seconds = 0;   // to make it from the stage that it is made of; 0 of the captured graph
  std::size_t ops = 0, kernels = 0, saved = 0;  // of a graph
  std::int64_t bytes = 0;                       // of a graph: what its ops write into memory of their own
  std::size_t lines = 0;                        // of a text
  bool is_as_before = false;                    // the nodes are those of the stage before
};

// The stages that concern the devices of the call. Those of kernels are of the graphs that run: two of each
// where an argument requires a gradient.
std::vector<StageSummary> stage_table(Interpreter& interpreter, const CapturedGraph& captured,
                                      jit::Remove remove);

}  // namespace kiln::interp::host
