#include "interpreter/capture/flow/pending_flow.h"

#include <system_error>

#include "tensor/timeline.h"

namespace kiln::interp::capture {

PendingFlow::PendingFlow(LoopFlow loop, bool behind)
    : loop_(std::move(loop)), made_(std::make_shared<jit::CompiledFlow>()) {
  const auto make = [graph = loop_.graph, made = made_] {
    const timeline::Span span(timeline::Kind::Compile, graph->name);
    *made = jit::compile_flow(graph);
  };
  if (behind) {
    try {
      call_ = std::make_unique<DetachedCall>(make);
      return;
    } catch (const std::system_error&) {  // there are no more threads
    }
  }
  make();
}

jit::CompiledFlow PendingFlow::take_code() {
  if (call_) call_->rethrow();
  return std::move(*made_);
}

}  // namespace kiln::interp::capture
