// Owns what is known of a flow's symbols while its layouts are worked out.
#pragma once

#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// Rules ask a scope what depends on symbols, as they did when the flow was noted: it knows of places that
// they are within their sizes, and of a block what the guards of its steps have said so far.
class FlowScope {
 public:
  explicit FlowScope(const FlowGraph& flow);

  void begin_block() { scope_.forget_guards(facts_); }
  // Gives what `f` asks beyond what is known and what the step's own guards say, answered by the hints.
  template <class F>
  std::vector<SizeGuard> asked(const FlowStep& step, const F& f) {
    for (const SizeGuard& each : step.guards) scope_.assume(each);
    const auto known = static_cast<std::ptrdiff_t>(scope_.guards().size());
    f();
    return {scope_.guards().begin() + known, scope_.guards().end()};
  }
  // The larger and the smaller one, when the flow runs: which of them that is, is not asked.
  Dim larger(Dim a, Dim b) const { return scope_.decide(SizeRelation::AtMost, b, a) == true ? a : max(a, b); }
  Dim smaller(Dim a, Dim b) const {
    return scope_.decide(SizeRelation::AtMost, a, b) == true ? a : min(a, b);
  }

 private:
  SizeScope scope_;
  std::size_t facts_ = 0;  // guards of the scope that always hold
};

}  // namespace kiln::jit
