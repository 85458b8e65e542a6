// Owns which steps of a flow are loops over elements in its machine code, in the documented order of their
// ops.
#pragma once

#include "jit/llvm/flow_values.h"

namespace kiln::jit {

// A step as those functions are given it. `operands` are in memory, or elements in registers. `result` is the
// target of a step that writes, whose memory operands may share; else new memory that none of them shares,
// row-major, and to be written whole. It is not there yet where `fits` is asked.
struct FlowRow {
  FlowEmitter& emit;
  const FlowStep& step;
  const FlowStepPlan& plan;
  std::vector<FlowTensor> operands;
  FlowTensor result;
};

// May the step be a loop here? Null: it is always a call of the op's kernel. Else an i1 that says so at run
// time, true where it always is: sizes are small enough for a loop to be quicker than the call, and for bits
// to be the kernel's.
llvm::Value* fits(const FlowRow& row);
// An i1: may the loop write straight into the result, each vector after the same elements of operands are
// read? True where the result is new memory.
llvm::Value* is_in_order(const FlowRow& row);
// The loop, where that holds.
void emit_elementwise(const FlowRow& row);
void emit_reduction(const FlowRow& row);
void emit_product(const FlowRow& row);
void emit_copy(const FlowRow& row);
void emit_fill(const FlowRow& row);
void emit_pick(const FlowRow& row);
void emit_join(const FlowRow& row);
// Of one dtype and equal sizes, which share no memory.
void copy_elements(FlowEmitter& emit, const FlowTensor& from, const FlowTensor& to);

}  // namespace kiln::jit
