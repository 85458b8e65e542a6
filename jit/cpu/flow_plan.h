// Owns what is worked out of a flow before code is made of it.
#pragma once

#include <cstdint>
#include <string>

#include "jit/llvm/flow_plan.h"

namespace kiln::jit {

// Code cannot be made of the flow.
struct NoFlowCode {
  std::string reason;
};
// What may be assumed of the memory of inputs: that those without dimensions share none with inputs that the
// flow writes, so that they are read once; or nothing.
enum class InputMemory : std::uint8_t { Apart, Any };
// Throws NoFlowCode.
FlowPlan plan_flow(const FlowGraph& flow, InputMemory inputs);

// Fills in which tensors are kept in registers, and the memory of the others (flow_memory.cpp).
void plan_memory(FlowPlan& plan, InputMemory inputs);

// Fills in which results are computed by their readers (flow_fusion.cpp).
void plan_fusion(FlowPlan& plan);

}  // namespace kiln::jit
