// Owns where the flow that goes back finds what all of its blocks read: memory of gradients, the inputs of
// the flow that were only read, sizes.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "jit/flow/flow_kept.h"
#include "jit/flow/flow_writer.h"
#include "tensor/substitute.h"

namespace kiln::jit {

// What is reached is not known before the flow runs back.
struct UnknownReach {};

// What came to a tensor.
struct ArrivedGradient {
  Operand gradient;
  // Where that is not known before the flow runs back, a bool: has none come? Then the gradient is zeros.
  std::optional<ValueId> absent;
};

class FlowGradients {
 public:
  // Makes the inputs of the flow that goes back, and its first block, where it stands afterwards.
  FlowGradients(FlowWriter& writer, FlowBackward& made, const FlowWay& way, const FlowReach& reach);

  // The gradient that comes in for an output is the memory of the gradient of that tensor from the beginning.
  // `outputs`: by number, the tensors that they are.
  using Outputs = std::vector<std::pair<std::size_t, ValueId>>;
  void add_inputs(const Outputs& outputs);
  // In the first block.
  void begin();
  // The gradients of wanted inputs become the values of the exit.
  void finish(ExitId done);

  // ---- What has come to a tensor, and was not taken ----
  // Where analysis says that some may have come. Nothing is left.
  ArrivedGradient take(ValueId tensor, const Node& like);
  // Of the elements of a root that `part`, a view of the memory of its gradient, shows. What lies outside is
  // left, and zeros within, unless it shows all.
  ArrivedGradient take_part(ValueId root, ValueId part, bool shows_all, const Node& like);
  void add(ValueId tensor, const ArrivedGradient& arrived, const Node& like);
  // To the elements that `part` shows; zeros to the others, as the tape does it.
  void add_part(ValueId tensor, ValueId part, bool shows_all, const ArrivedGradient& arrived,
                const Node& like);
  // Nothing is left of tensors whose gradients are values of the block that was gone through.
  void end_block() const;

  // The memory of the gradient of a tensor.
  ValueId memory(ValueId tensor);
  // An input of the flow, as it was given.
  ValueId given(ValueId input) const { return given_.at(input); }
  const SymbolSizes& sizes() const { return sizes_; }

 private:
  ValueId input(FlowBackward::Input what, Type type, std::int64_t hint = 1);
  Type own_type(ValueId id) const;
  void find_tensors();
  ValueId flags(std::size_t count);
  ValueId flag(ValueId flags, const std::vector<ValueId>& tensors, ValueId tensor);
  Operand item(ValueId flag);
  void set(ValueId flag, Operand value);
  ValueId emptied(ValueId memory, Operand left, const Node& like);
  void forget_zeros(ValueId tensor);
  void add_zeros_outside(ValueId tensor, ValueId part, const std::optional<ValueId>& absent,
                         const Node& like);
  Operand has_negative_zero(ValueId elements, const Node& like);
  // Of a tensor that a gradient comes to in some runs alone.
  ValueId absence(ValueId tensor);
  std::optional<ValueId> take_absence(ValueId tensor);
  void arrive(ValueId tensor, const std::optional<ValueId>& absent);
  std::set<ValueId> read_inputs() const;
  bool is_summed(std::size_t input) const;
  void add_numbers(const std::set<ValueId>& read, const std::vector<ValueId>& tensors);
  void add_symbols(const std::vector<ValueId>& tensors);

  FlowWriter& writer_;
  FlowBackward& made_;
  const FlowWay& way_;
  const FlowReach& reach_;
  SymbolSizes sizes_;  // of symbols of the flow
  Outputs outputs_;
  std::map<ValueId, ValueId> memory_, given_;
  std::map<ValueId, Operand> local_;   // gradients that are values of the block under way
  std::vector<ValueId> uncertain_;     // to which a gradient comes in some runs alone
  ValueId absent_ = Operand::kAbsent;  // by these: has none come?
  std::vector<ValueId> scattered_;     // to whose gradients those of parts are added
  ValueId signed_ = Operand::kAbsent;  // by these: may an element be -0.0?
};

}  // namespace kiln::jit
