// Owns a flow graph whose machine code is made while the interpreter goes on.
#pragma once

#include <memory>

#include "interpreter/capture/flow/loop_flow.h"
#include "tensor/detached_call.h"

namespace kiln::interp::capture {

class PendingFlow {
 public:
  // Makes the code on a thread of its own if `behind`, else at once.
  PendingFlow(LoopFlow loop, bool behind);

  bool is_ready() const { return call_ == nullptr || call_->has_ended(); }
  // Both of one that is ready, once.
  LoopFlow take_loop() { return std::move(loop_); }
  jit::CompiledFlow take_code();
  const LoopFlow& loop() const { return loop_; }

 private:
  LoopFlow loop_;
  std::shared_ptr<jit::CompiledFlow> made_;
  std::unique_ptr<DetachedCall> call_;  // null: it was made at once
};

}  // namespace kiln::interp::capture
