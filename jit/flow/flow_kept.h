// Owns what a flow keeps for its derivative, in the order in which it pushes it; backward takes it off in
// reverse.
#pragma once

#include <string>
#include <vector>

#include "jit/flow/flow_activity.h"
#include "jit/flow/flow_gradient.h"

namespace kiln::jit {

struct FlowKept {
  enum class Kind : std::uint8_t {
    Value,     // `id`, a number or a tensor
    Copy,      // the elements that operand `operand` of the step had, or its result
    Gradient,  // the memory of the gradient of the root `id`
    Size,      // of `symbol`, as an int
    From,      // the number of the way by which the block was come to
  };
  Kind kind = Kind::Value;
  ValueId id = Operand::kAbsent;
  std::string symbol{};
};

struct FlowKeptBlock {
  std::vector<std::vector<FlowKept>> before, after;  // by step
  std::vector<FlowKept> end;
  std::vector<BlockId> ways;  // the blocks that jump here, one for each way
};

struct FlowRecord {
  std::vector<FlowKeptBlock> blocks;
  std::vector<FlowKept> begin;   // of the flow, first of all
  std::vector<FlowKept> leave;   // at the exit; the last is From: which of `leaving`
  std::vector<BlockId> leaving;  // the blocks that end in the exit
};

// Is there something to do for the step on the way back, beside views of gradients in memory?
bool is_differentiated(const FlowActivity& activity, const Node& node);
// The operands, by number, and results whose elements the derivative of the step reads.
std::vector<std::size_t> read_operands(const FlowActivity& activity, const Node& node);
std::vector<std::size_t> read_results(const FlowActivity& activity, const Node& node);

// The flow that keeps, and what it keeps. The flow is `expanded`.
struct KeepingFlow {
  FlowGraph flow;
  FlowRecord record;
};
KeepingFlow keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked,
                    ExitId exit);
FlowGraph backwards(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked,
                    ExitId exit, const FlowRecord& record);

}  // namespace kiln::jit
