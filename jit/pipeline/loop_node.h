// Owns the node that a loop which ran as a flow graph leaves on the tape.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/flow/flow_gradient_run.h"
#include "tensor/levels/level.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// A flow that is differentiated, for one run of it.
class RecordedLoop {
 public:
  // The histories of the inputs as they are before the flow runs. `why_not`: why the run cannot be recorded
  // as the tape would record it, which is then left to the program. `level`: that of the transform whose tape
  // records it (jit/pipeline/loop_level.h); null: none.
  RecordedLoop(std::shared_ptr<DifferentiatedFlow> flow, std::span<const FlowValue> inputs,
               const levels::Level* level);
  const std::string& why_not() const { return why_not_; }
  // Runs it. Where it left by an exit that has a derivative, results and what was written have their
  // histories, which lead to one node. Else what it wrote is undone, and nothing is given.
  std::optional<FlowResult> run();
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  std::string obstacle() const;
  FlowForward forward() const;
  void link(const FlowResult& result, std::shared_ptr<const FlowKept> kept) const;

  std::shared_ptr<DifferentiatedFlow> flow_;
  std::span<const FlowValue> inputs_;
  const levels::Level* level_;
  std::optional<std::vector<FlowValue>> below_;  // what the inputs stand for
  std::vector<tape::Edge> histories_;            // of the inputs that are wanted
  std::string why_not_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace kiln::jit
