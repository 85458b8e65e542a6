#include "jit/flow/flow_block_back.h"

#include <algorithm>
#include <memory>

#include "jit/graph/custom.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

TensorType trace_type(const Type& type) { return {type.dtype, type.device, type.sizes, type.is_number}; }

TensorType trace_type(const FlowGraph& flow, const Operand& operand) {
  const bool is_absent = !operand.is_value() && !operand.is_number();
  return trace_type(is_absent ? absent_type() : operand_type(flow, operand));
}

Tensors found(Inputs traced, const std::vector<int>& positions) {
  Tensors tensors;
  for (const int each : positions)
    tensors.push_back(each < 0 ? Tensor() : traced[static_cast<std::size_t>(each)]);
  return tensors;
}

// The derivative of the step, as its row has it, with gradients of the types of the operands. The type of
// what is computed may differ from that of what it is written to.
Tensors run_rule(const FlowGraph& flow, const Node& node, const RuleInputs& at, Inputs traced,
                 std::span<const bool> needs) {
  const Attrs attrs = to_attrs(*node.op, node.attrs);
  std::vector<TensorType> operand_types;
  for (const Operand& each : node.operands) operand_types.push_back(trace_type(flow, each));
  const std::vector<TensorType> result_types = node.op->infer(operand_types, attrs);
  Tensors gradients = found(traced, at.gradients);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const TensorType& type = result_types[k];
    if (!gradients[k] && is_differentiable(type.dtype))
      gradients[k] = ops::zeros(type.sizes, type.dtype, type.device);
    if (gradients[k] && gradients[k].dtype() != type.dtype) gradients[k] = ops::to(gradients[k], type.dtype);
  }
  const Tensors operands = found(traced, at.operands), results = found(traced, at.results);
  Tensors made = derivative_of(*node.op)(
      {*node.op, attrs, operands, results, operand_types, result_types, gradients, needs});
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i] || !needs[i]) continue;
    if (made[i].sizes() != operand_types[i].sizes) made[i] = ops::sum_to(made[i], operand_types[i].sizes);
    if (made[i].dtype() != operand_types[i].dtype) made[i] = ops::to(made[i], operand_types[i].dtype);
  }
  return made;
}

}  // namespace

void BlockBack::run() {
  const FlowKeptBlock& kept = way_.record.blocks[block_];
  pop(kept.end);
  find_places();
  for (std::size_t k = block().steps.size(); k-- > 0;) {
    pop(kept.after[k]);
    after_.swap(before_);
    before_.clear();
    pop(kept.before[k]);
    step(k);
    before_.clear();
    after_.clear();
  }
  gradients_.end_block();
}

void BlockBack::step(std::size_t k) {
  const std::vector<GradientMove>& moves = way_.moves.of_step(block_, k);
  for (std::size_t m = 0; m < moves.size(); ++m) {
    const Moved& moved = reach_.of_move(block_, k, m);
    if (moved.reach != Reach::Never) move(block().steps[k].node, moves[m], moved);
  }
}

void BlockBack::move(const Node& node, const GradientMove& move, const Moved& moved) {
  using Kind = GradientMove::Kind;
  if (move.kind == Kind::Part) {
    const ValueId view = move.from.front(), shown = move.to.front();
    const ArrivedGradient arrived = gradients_.take(view, node);
    return gradients_.add_part(shown, view_of_memory(shown, view), shows_all(way_.activity, view, shown),
                               arrived, *way_.activity.view(view));
  }
  std::optional<ValueId> absent;
  const std::vector<std::optional<Operand>> taken = take(node, move, moved, absent);
  if (move.kind != Kind::Nowhere) apply_rule(node, taken, absent);
}

std::vector<std::optional<Operand>> BlockBack::take(const Node& node, const GradientMove& move,
                                                    const Moved& moved, std::optional<ValueId>& absent) {
  if (move.kind == GradientMove::Kind::Write) return {take_written(node, move, moved, absent)};
  std::vector<std::optional<Operand>> taken(node.outputs.size());
  for (std::size_t k = 0; k < move.from.size(); ++k) {
    // Where one of several results has no gradient, the tape gives the derivative zeros for it.
    if (moved.from[k] == Reach::Never) continue;
    if (moved.from[k] == Reach::Sometimes && move.from.size() > 1) throw UnknownReach{};
    const ArrivedGradient arrived = gradients_.take(move.from[k], node);
    const auto result = std::find(node.outputs.begin(), node.outputs.end(), move.from[k]);
    taken[static_cast<std::size_t>(result - node.outputs.begin())] = arrived.gradient;
    if (move.from.size() == 1) absent = arrived.absent;
  }
  return taken;
}

// The gradient of the place that was written, of which nothing goes to what was there before.
Operand BlockBack::take_written(const Node& node, const GradientMove& move, const Moved& moved,
                                std::optional<ValueId>& absent) {
  const ValueId root = move.from.front(), view = move.from.back();
  std::optional<Operand> own;
  if (view != root && moved.from[1] != Reach::Never) {
    if (moved.from[0] == Reach::Sometimes || moved.from[1] == Reach::Sometimes) throw UnknownReach{};
    own = gradients_.take(view, node).gradient;
    if (moved.from[0] == Reach::Never) return *own;
  }
  const ArrivedGradient arrived = view == root
                                      ? gradients_.take(root, node)
                                      : gradients_.take_part(root, view_of_memory(root, view),
                                                             shows_all(way_.activity, view, root), node);
  if (!own) {
    absent = arrived.absent;
    return arrived.gradient;
  }
  return Operand::of(writer_.apply(core_ops().add, {*own, arrived.gradient}, node));
}

// ---- Rules ----

RuleInputs BlockBack::rule_inputs(const Node& node, const std::vector<std::optional<Operand>>& arrived) {
  RuleInputs inputs;
  const auto add = [&](ValueId id, ValueId value) {
    return inputs.add(traced(way_.flow, Operand::of(id)), Operand::of(value));
  };
  for (std::size_t k = 0; k < arrived.size(); ++k)
    inputs.gradients.push_back(
        arrived[k] ? inputs.add(traced(way_.flow, Operand::of(node.outputs[k])), *arrived[k]) : -1);
  inputs.operands.assign(node.operands.size(), -1);
  inputs.results.assign(node.outputs.size(), -1);
  for (const std::size_t i : read_operands(way_.activity, node)) {
    const ValueId id = node.operands[i].value;
    const auto apart = before_.find(id);
    inputs.operands[i] = add(id, apart != before_.end() ? apart->second : value_of(id));
  }
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i].is_number())
      inputs.operands[i] = inputs.add(traced(way_.flow, node.operands[i]), here(node.operands[i]));
  }
  for (const std::size_t k : read_results(way_.activity, node)) {
    const ValueId id = node.outputs[k];
    const auto apart = after_.find(id);
    inputs.results[k] = add(id, apart != after_.end() ? apart->second : value_of(id));
  }
  return inputs;
}

void BlockBack::apply_rule(const Node& node, const std::vector<std::optional<Operand>>& arrived,
                           const std::optional<ValueId>& absent) {
  const RuleInputs inputs = rule_inputs(node, arrived);
  const std::size_t count = node.operands.size();
  const auto needs = std::make_unique<bool[]>(count);
  for (std::size_t i = replaces_target(node) ? 1 : 0; i < count; ++i)
    needs[i] = way_.activity.is_active(node.operands[i]);
  if (std::none_of(needs.get(), needs.get() + count, [](bool each) { return each; })) return;
  const auto body = [&](Inputs given) {
    return run_rule(way_.flow, node, inputs, given, {needs.get(), count});
  };
  const std::optional<Fragment> rule = trace(body, inputs.traced, way_.flow.hints, differentiates_by_body);
  const std::string name(node.op->name());
  if (!rule) throw OpError(ErrorKind::Capture, "the derivative of " + name + " reads elements");
  FlowStep like;
  like.node.place = node.place;
  like.node.origin = name;
  like.exit = other_sizes_;
  const std::vector<Operand> gradients = writer_.inline_fragment(here(*rule), inputs.given, like);
  for (std::size_t i = 0; i < count; ++i) {
    if (!needs[i]) continue;
    if (!gradients[i].is_value())
      throw OpError(ErrorKind::Capture, "the derivative of " + name + " gives no gradient of an operand");
    const ValueId operand = tensor(node.operands[i].value);
    // The derivative of what no gradient came to may be no zeros, as zeros times infinity are none.
    const Operand made = !absent ? gradients[i]
                                 : Operand::of(writer_.apply(
                                       core_ops().masked_fill,
                                       {gradients[i], Operand::of(*absent), Operand::of_number(-0.0)}, node));
    gradients_.add(operand, {made, absent}, node);
  }
}

}  // namespace kiln::jit
