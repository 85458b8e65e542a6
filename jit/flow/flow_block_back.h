// Owns the way back through one block of a flow: what was kept is popped, steps are differentiated from the
// last to the first.
#pragma once

#include <map>
#include <optional>

#include "jit/flow/flow_kept.h"
#include "jit/flow/flow_writer.h"
#include "tensor/substitute.h"

namespace kiln::jit {

// What a step's derivative is traced on: which of the traced tensors are its operands, results and gradients.
struct RuleInputs {
  std::vector<TraceOperand> traced;
  std::vector<Operand> given;                     // of the backward flow
  std::vector<int> operands, results, gradients;  // positions in these; -1: absent

  int add(TraceOperand trace, Operand value) {
    traced.push_back(std::move(trace));
    given.push_back(std::move(value));
    return static_cast<int>(given.size()) - 1;
  }
};

// Writes into the block under way of the writer.
class BlockBack {
 public:
  // `other_sizes`: where a step leaves whose derivative was made for other sizes.
  BlockBack(FlowWriter& writer, const FlowGraph& flow, const FlowActivity& activity, ExitId other_sizes)
      : writer_(writer), flow_(flow), activity_(activity), other_sizes_(other_sizes) {}

  // What was pushed in this order.
  void pop(const std::vector<FlowKept>& kept);
  // The number of the way by which the block was come to, once it was popped.
  Operand from() const { return Operand::of(from_); }
  void steps(const FlowBlock& block, const FlowKeptBlock& kept);
  // The memory of the gradient of what a value shows.
  ValueId gradient(ValueId id);

 private:
  void pop(const FlowKept& kept);
  std::int64_t hint_of(const std::string& symbol) const;

  // What is written with the flow's symbols, with those of what was popped.
  Dim here(Dim size) const { return substitute(size, sizes_); }
  Dims here(Dims sizes) const;
  std::vector<Attr> here(std::vector<Attr> attrs) const;
  Operand here(Operand operand) const;
  Fragment here(Fragment fragment) const;

  void step(const Node& node);
  int add(RuleInputs& inputs, ValueId id, const std::map<ValueId, ValueId>& copies) const;
  // The gradients of the results, which are done with then. False: there are none.
  bool take_gradients(const Node& node, RuleInputs& inputs);
  std::optional<Operand> take_gradient(const Node& node, ValueId id);
  void apply_rule(const Node& node, const RuleInputs& inputs);
  void accumulate(ValueId id, const Operand& gradient_of_id, const Node& like);

  FlowWriter& writer_;
  const FlowGraph& flow_;
  const FlowActivity& activity_;
  ExitId other_sizes_;
  SymbolSizes sizes_;
  std::map<ValueId, ValueId> values_, copies_, results_, gradients_;
  std::map<ValueId, Operand> local_;  // gradients that are values
  ValueId from_ = Operand::kAbsent;
};

}  // namespace kiln::jit
