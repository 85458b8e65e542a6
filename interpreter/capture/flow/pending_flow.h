// Owns a flow graph whose machine code is made while the interpreter goes on.
#pragma once

#include <memory>

#include "interpreter/capture/flow/loop_flow.h"
#include "jit/flow/flow_gradient_run.h"
#include "tensor/detached_call.h"

namespace kiln::interp::capture {

// What runs a loop: the flow itself, or with its derivative. Neither: `reason`.
struct MadeFlow {
  std::unique_ptr<jit::RunnableFlow> run;
  std::shared_ptr<jit::DifferentiatedFlow> differentiated;
  std::string reason;
  std::size_t code_bytes = 0;
};
// As machine code or step by step.
MadeFlow make_flow(std::shared_ptr<const jit::FlowGraph> graph, const std::vector<bool>& wanted,
                   bool as_code);

class PendingFlow {
 public:
  // Makes the code on a thread of its own if `behind`, else at once.
  PendingFlow(LoopFlow loop, bool behind);

  bool is_ready() const { return call_ == nullptr || call_->has_ended(); }
  // Both of one that is ready, once.
  LoopFlow take_loop() { return std::move(loop_); }
  MadeFlow take_code();
  const LoopFlow& loop() const { return loop_; }

 private:
  LoopFlow loop_;
  std::shared_ptr<MadeFlow> made_;
  std::unique_ptr<DetachedCall> call_;  // null: it was made at once
};

}  // namespace kiln::interp::capture
