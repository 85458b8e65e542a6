// Owns which flows may be one op of a graph: those that can be run apart from the memory of their inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "jit/graph/loop.h"

namespace kiln::jit {

struct FlowAsOp {
  std::optional<LoopFunction> function;  // without a name and code; nullopt: `reason`
  std::string reason;
  // By value of the exit: the result of the op that it is, or else the input of the flow.
  struct Place {
    bool is_input = false;
    std::size_t number = 0;
  };
  std::vector<Place> places;
};

// `done`: exits with values of the same types in the same order. Inputs of the op are values of their own, so
// the caller sees to it that none shares memory with one that is written.
FlowAsOp as_op(std::shared_ptr<const FlowGraph> flow, std::vector<ExitId> done);

// What the op of a loop gives, and how often the loop went round, with the iterations of loops within it.
struct LoopRun {
  Tensors results;
  std::int64_t iterations = 0;
};
LoopRun run_once(const Op& loop, Inputs inputs);

}  // namespace kiln::jit
