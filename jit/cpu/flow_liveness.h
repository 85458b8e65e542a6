// Owns which tensors of a flow are still read behind each step, and whose memory each of them may show.
#pragma once

#include <set>
#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

using ValueSet = std::set<ValueId>;

// By value: the inputs and results of steps whose memory it may show. A result of a step that is neither a
// view nor a write shows its own; a parameter of a block what its arguments show.
std::vector<ValueSet> memory_shown(const FlowGraph& flow);
// By value: the inputs and results of steps that it may be, as the program's `is` tells tensors apart. A view
// is a tensor of its own, a write gives its target, and a parameter of a block is one of its arguments.
std::vector<ValueSet> tensors_of(const FlowGraph& flow);

class FlowLiveness {
 public:
  explicit FlowLiveness(const FlowGraph& flow);
  // The values that are read behind the step, or where it leaves; and its operands.
  ValueSet around(BlockId block, std::size_t step) const;

 private:
  ValueSet before(BlockId block, std::size_t first) const;  // before the step, in the block
  void add_uses(const FlowStep& step, ValueSet& live) const;
  void add_exit(ExitId exit, ValueSet& live) const;

  const FlowGraph& flow_;
  std::vector<ValueSet> into_;  // by block: what is live where it begins, without its parameters
};

}  // namespace kiln::jit
