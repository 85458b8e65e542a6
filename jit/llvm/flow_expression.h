// Owns what a step of a flow computes for each element, with the steps before it that were left to it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_space.h"
#include "jit/llvm/vector_steps.h"

namespace kiln::jit {

// kVector elements from an index on, or the `rest` that are there.
using ElementsFn = std::function<VectorSteps::Elements(llvm::Value* index, llvm::Value* rest)>;

// The tensors in memory, and elements in registers, that the elements of `x` are computed from, or `x`
// itself; and those of all operands of a step, of a copy those of the last one. In the order in which a
// FlowExpression reads them.
std::vector<FlowTensor> leaves_of(const FlowTensor& x);
std::vector<FlowTensor> leaves_of(const FlowRow& row);

// Makes readers of `x`, or of what an elementwise step gives, along lines of their leaves, from `next` on.
class FlowExpression {
 public:
  FlowExpression(FlowEmitter& emit, std::span<const FlowLine> lines)
      : emit_(emit), steps_(emit.bodies(), emit.build(), emit.vectors()), lines_(lines) {}
  ElementsFn reader(const FlowTensor& x) { return anew(reader(x, nullptr)); }
  // Leaves by the step's exit where its function refuses elements.
  ElementsFn reader(const FlowRow& row) { return anew(elements(row)); }
  VectorSteps& steps() { return steps_; }

 private:
  ElementsFn reader(const FlowTensor& x, const Compute* compute);
  ElementsFn reader(FlowLine line, const Compute* compute);
  ElementsFn elements(const FlowRow& row);
  ElementsFn elements_once(const FlowRow& row);
  ElementsFn application(const FlowRow& row);
  ElementsFn anew(ElementsFn whole);

  FlowEmitter& emit_;
  VectorSteps steps_;
  std::span<const FlowLine> lines_;
  std::size_t next_ = 0;
  // Steps that were left to their readers, which may be several.
  std::map<const FlowRow*, ElementsFn> readers_;
  std::map<const FlowRow*, VectorSteps::Elements> computed_;  // of the elements at hand
};

// With its last element first along these dimensions.
FlowTensor backwards(FlowEmitter& emit, FlowTensor x, const std::vector<bool>& dims);

}  // namespace kiln::jit
