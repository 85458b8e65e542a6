// Owns what a step of a flow computes for each element, with the steps before it that were left to it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_space.h"
#include "jit/llvm/vector_steps.h"

namespace kiln::jit {

// kVector elements from an index on, or the `rest` that are there.
using ElementsFn = std::function<VectorSteps::Elements(llvm::Value* index, llvm::Value* rest)>;

// The tensors in memory, and elements in registers, that the elements of `x` are computed from, or `x`
// itself; and those of all operands of a step, of a copy those of the last one.
void add_leaves(const FlowTensor& x, std::vector<FlowTensor>& leaves);
void add_leaves(const FlowRow& row, std::vector<FlowTensor>& leaves);

// Makes readers of `x`, or of what an elementwise step gives, along lines of their leaves, from `next` on.
class FlowExpression {
 public:
  FlowExpression(FlowEmitter& emit, std::span<const FlowLine> lines)
      : emit_(emit), steps_(emit.bodies(), emit.build(), emit.vectors()), lines_(lines) {}
  ElementsFn reader(const FlowTensor& x) { return reader(x, nullptr); }
  // Leaves by the step's exit where its function refuses elements.
  ElementsFn reader(const FlowRow& row);
  VectorSteps& steps() { return steps_; }

 private:
  ElementsFn reader(const FlowTensor& x, const Compute* compute);
  ElementsFn reader(FlowLine line, const Compute* compute);
  ElementsFn application(const FlowRow& row);

  FlowEmitter& emit_;
  VectorSteps steps_;
  std::span<const FlowLine> lines_;
  std::size_t next_ = 0;
};

// With its last element first along these dimensions.
FlowTensor backwards(FlowEmitter& emit, FlowTensor x, const std::vector<bool>& dims);

}  // namespace kiln::jit
