// Owns writing flow graphs step by step: values get their types from the rules of their ops.
#pragma once

#include <span>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "jit/graph/trace.h"

namespace kiln::jit {

class FlowWriter {
 public:
  FlowWriter() = default;
  explicit FlowWriter(FlowGraph begun) : flow(std::move(begun)) {}

  // `hint`: of an int.
  ValueId value(Type type, std::int64_t hint = 1);
  // A new last block, at which steps are written from now on.
  BlockId begin_block();
  void go_on_in(BlockId block) { at_ = block; }
  BlockId at() const { return at_; }
  ValueId parameter(Type type, std::int64_t hint = 1);
  FlowBlock& block() { return flow.blocks[static_cast<std::size_t>(at_)]; }

  // The step without results, which are made; or those that are given, of the types that the op's rule gives.
  // Throws what the rule throws.
  std::vector<ValueId> add(FlowStep step, std::vector<ValueId> results = {});
  // An op with the place and origin of `like`.
  ValueId apply(const Op& op, std::vector<Operand> operands, std::vector<Attr> attrs, const Node& like,
                Form form = Form::Plain);
  // With the defaults of its attributes.
  ValueId apply(const Op& op, std::vector<Operand> operands, const Node& like, Form form = Form::Plain);
  ValueId number(NumberOp op, std::vector<Operand> operands, std::int64_t hint = 1);
  // The view without dimensions of an element of a tensor of one dimension.
  ValueId element(ValueId of, std::int64_t place);
  void push(Operand operand);
  ValueId pop(Type type, std::int64_t hint = 1);
  // The steps of a fragment, with `operands` in the slots of its inputs; gives its outputs, which are the
  // values `results` where these are given. Each step has the exit of `like`, and the first one the
  // fragment's guards. Throws OpError (Capture) where a result that is given is one of the operands.
  std::vector<Operand> inline_fragment(const Fragment& fragment, std::vector<Operand> operands,
                                       const FlowStep& like, std::span<const ValueId> results = {});

  FlowGraph flow;
  // Where steps leave that are written by `apply`, and by `number`: then rules may ask for sizes.
  ExitId failing = kCannotFail;

 private:
  BlockId at_ = -1;
};

// Does the guard tell sizes of 0 or 1 from others? Loops over elements are right for all of them.
bool asks_for_small_size(const SizeGuard& guard);

Type number_type(DType dtype);
// The operand of a fragment, without gaps in memory.
TraceOperand traced(const FlowGraph& flow, const Operand& operand);
Type operand_type(const FlowGraph& flow, const Operand& operand);

}  // namespace kiln::jit
