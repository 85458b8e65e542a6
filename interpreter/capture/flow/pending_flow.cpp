#include "interpreter/capture/flow/pending_flow.h"

#include <algorithm>
#include <system_error>

#include "jit/passes/run_recipe.h"
#include "tensor/timeline.h"

namespace kiln::interp::capture {

MadeFlow make_flow(std::shared_ptr<const jit::FlowGraph> graph, const std::vector<bool>& wanted,
                   bool as_code) {
  MadeFlow made;
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
    if (!as_code) {
      made.run = jit::evaluated(std::move(graph));
      return made;
    }
    jit::CompiledFlow code = jit::compile_flow(std::move(graph));
    return {std::move(code.run), nullptr, std::move(code.reason), code.code_bytes};
  }
  try {
    made.differentiated = jit::differentiate_flow(std::move(graph), wanted, as_code);
    made.code_bytes = made.differentiated->code_bytes();
    if (jit::verifies_passes()) {
      const std::string fault = jit::find_fault(made.differentiated->derivative().forward());
      if (!fault.empty()) throw InternalError("the flow that keeps is wrong: " + fault);
    }
  } catch (const OpError& error) {
    made.reason = error.message();
  }
  return made;
}

PendingFlow::PendingFlow(LoopFlow loop, bool behind)
    : loop_(std::move(loop)), made_(std::make_shared<MadeFlow>()) {
  const auto make = [graph = loop_.graph, wanted = loop_.wanted, made = made_] {
    const timeline::Span span(timeline::Kind::Compile, graph->name);
    *made = make_flow(graph, wanted, true);
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

MadeFlow PendingFlow::take_code() {
  if (call_) call_->rethrow();
  return std::move(*made_);
}

}  // namespace kiln::interp::capture
