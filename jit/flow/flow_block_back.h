// Owns the way back through one block of a flow: what was kept is popped, steps are differentiated from the
// last to the first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/flow/flow_gradients.h"

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

// Writes into the block under way of the writer. Throws UnknownReach.
class BlockBack {
 public:
  // `other_sizes`: where a step leaves whose derivative was made for other sizes.
  BlockBack(FlowWriter& writer, const FlowWay& way, const FlowReach& reach, FlowGradients& gradients,
            std::size_t block, ExitId other_sizes)
      : writer_(writer),
        way_(way),
        reach_(reach),
        gradients_(gradients),
        block_(block),
        other_sizes_(other_sizes),
        sizes_(gradients.sizes()) {}

  void run();
  // The number of the way by which the block was come to.
  Operand from() const { return Operand::of(from_); }

 private:
  const FlowBlock& block() const { return way_.flow.blocks[block_]; }
  ValueId tensor(ValueId id) const { return way_.activity.tensor(id); }

  // ---- What was kept ----
  void pop(const std::vector<KeptItem>& kept);
  void pop(const KeptItem& kept);
  void find_places();
  std::int64_t hint_of(const std::string& symbol) const;
  ValueId value_of(ValueId id);

  // What is written with the flow's symbols, with those of what was popped.
  Dim here(Dim size) const;
  Dims here(Dims sizes) const;
  std::vector<Attr> here(std::vector<Attr> attrs) const;
  Operand here(Operand operand) const;
  Fragment here(Fragment fragment) const;

  // ---- Steps ----
  void step(std::size_t k);
  void move(const Node& node, const GradientMove& move, const Moved& moved);
  // What a move of the step takes, by result, or of what is written.
  std::vector<std::optional<Operand>> take(const Node& node, const GradientMove& move, const Moved& moved,
                                           std::optional<ValueId>& absent);
  Operand take_written(const Node& node, const GradientMove& move, const Moved& moved,
                       std::optional<ValueId>& absent);
  void apply_rule(const Node& node, const std::vector<std::optional<Operand>>& arrived,
                  const std::optional<ValueId>& absent);
  RuleInputs rule_inputs(const Node& node, const std::vector<std::optional<Operand>>& arrived);

  // ---- Views ----
  ValueId view_of_memory(ValueId shown, ValueId view);
  ValueId applied(ValueId shown, const Node& view, ValueId of, ValueId made);

  FlowWriter& writer_;
  const FlowWay& way_;
  const FlowReach& reach_;
  FlowGradients& gradients_;
  std::size_t block_;
  ExitId other_sizes_;
  SymbolSizes sizes_;
  std::map<ValueId, ValueId> values_;          // popped for the block, or a view of an input
  std::map<ValueId, ValueId> before_, after_;  // popped for the step under way
  ValueId from_ = Operand::kAbsent;
};

}  // namespace kiln::jit
