// Owns what a flow keeps for its derivative, in the order in which it pushes it; backward takes it off in
// reverse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/flow/flow_outputs.h"
#include "jit/flow/flow_reach.h"

namespace kiln::jit {

struct KeptItem {
  enum class Kind : std::uint8_t {
    Value,  // `id`: a number, or the elements that a tensor has
    Size,   // of `symbol`, as an int
    From,   // the number of the way by which the block was come to, or of the block that left
  };
  Kind kind = Kind::Value;
  ValueId id = Operand::kAbsent;
  std::string symbol{};
};

// A jump: of a block that branches, to the one block or the other.
struct FlowWayTo {
  BlockId from = -1;
  bool is_other = false;
};

struct FlowKeptBlock {
  std::vector<std::vector<KeptItem>> before, after;  // by step: elements that may change later
  std::vector<KeptItem> end;
  std::vector<FlowWayTo> ways;  // that lead here
};

// An index, or a bound of a slice: the op that checks it against a size.
struct FlowPlace {
  NumberOp op = NumberOp::Index;
  Dim size = 0;
};

struct FlowRecord {
  std::vector<FlowKeptBlock> blocks;
  std::map<std::string, FlowPlace> places;         // by symbol
  std::map<ExitId, std::vector<BlockId>> leaving;  // the blocks that end in an exit, by which it is left
};

// Are the elements of the tensor found in an input that the flow only reads?
bool is_given(const FlowGraph& flow, const FlowActivity& activity, ValueId id);
// The operands, by number, and results whose elements the derivative of the step reads.
std::vector<std::size_t> read_operands(const FlowActivity& activity, const Node& node);
std::vector<std::size_t> read_results(const FlowActivity& activity, const Node& node);

// The flow that keeps, and what it keeps. The flow is `expanded`. Where there are flags, each exit behind the
// loop has a tensor of these as one more value.
struct KeepingFlow {
  FlowGraph flow;
  FlowRecord record;
};
KeepingFlow keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
                    const FlowOutputs& outputs);

// What all parts of the way back read.
struct FlowWay {
  const FlowGraph& flow;
  const FlowActivity& activity;
  const FlowMoves& moves;
  const FlowRecord& record;
  const std::vector<bool>& wanted;
};
// The flow that goes back from the exit, where gradients come in for some of `outputs`.
std::optional<FlowBackward> backwards(const FlowWay& way, ExitId exit, const std::vector<FlowOutput>& outputs,
                                      const std::vector<bool>& given);

}  // namespace kiln::jit
