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
}

void BlockBack::step(std::size_t k) {
  const Node& node = block().steps[k].node;
  const bool makes_view = std::any_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) {
    return way_.activity.view(id) != nullptr && way_.activity.tensor(id) == id;
  });
  if (makes_view) {
    if (way_.activity.is_recorded(node)) deliver(node);
  } else if (is_differentiated(way_.activity, node)) {
    differentiate(k);
  }
  const std::vector<ValueId>& renewed = way_.views.renewed_by(block_, k);
  for (auto view = renewed.rbegin(); view != renewed.rend(); ++view) {
    const std::optional<Operand> gradient = take_local(*view);
    if (gradient) deliver_to(way_.activity.root(*view), *view, *gradient, gradients_.take_absence(*view));
  }
  // Before it was made a tensor has no gradient.
  if (makes_view || reach_.of_step(block_, k) == Reach::Never) return;
  for (const ValueId id : node.outputs) {
    const bool is_made = tensor(id) == id && way_.activity.is_active(id) && way_.activity.is_in_memory(id);
    if (!is_made) continue;
    empty_memory(id, gradients_.memory(id), node);
    if (!is_differentiated(way_.activity, node)) gradients_.take_absence(id);
  }
}

void BlockBack::differentiate(std::size_t k) {
  if (reach_.of_step(block_, k) == Reach::Never) return;
  const Node& node = block().steps[k].node;
  const std::optional<ValueId> absent = take_absence(node);
  apply_rule(node, take_gradients(k), absent);
}

std::optional<ValueId> BlockBack::take_absence(const Node& node) {
  if (node.writes()) {
    const ValueId target = tensor(node.operands[0].value), root = way_.activity.root(target);
    const bool has_own = local_.contains(target) && target != root;
    if (has_own && (reach_.is_uncertain(target) || reach_.is_uncertain(root))) throw UnknownReach{};
    const std::optional<ValueId> absent = gradients_.take_absence(root);
    if (target != root && !shows_all(way_.activity, target)) gradients_.arrive(root, absent);
    return absent;
  }
  std::optional<ValueId> found;
  for (const ValueId id : node.outputs) {
    if (!way_.activity.is_active(id)) continue;
    if (found || (reach_.is_uncertain(id) && node.outputs.size() > 1)) throw UnknownReach{};
    found = gradients_.take_absence(id);
  }
  return found;
}

// ---- Gradients ----

std::optional<Operand> BlockBack::take_local(ValueId id) {
  const auto known = local_.find(tensor(id));
  if (known == local_.end()) return std::nullopt;
  Operand taken = std::move(known->second);
  local_.erase(known);
  return taken;
}

std::vector<std::optional<Operand>> BlockBack::take_gradients(std::size_t k) {
  const Node& node = block().steps[k].node;
  if (node.writes()) return {take_written(k)};
  std::vector<std::optional<Operand>> taken;
  for (const ValueId id : node.outputs) {
    if (!way_.activity.is_active(id)) {
      taken.emplace_back();
    } else if (way_.activity.is_in_memory(id)) {
      const ValueId memory = gradients_.memory(id);
      taken.emplace_back(Operand::of(writer_.apply(core_ops().clone, {Operand::of(memory)}, node)));
    } else {
      taken.push_back(take_local(id));
    }
  }
  return taken;
}

// The gradient of the place that was written, of which nothing goes to what was there before.
Operand BlockBack::take_written(std::size_t k) {
  const Node& node = block().steps[k].node;
  const ValueId target = tensor(node.operands[0].value), root = way_.activity.root(target);
  const std::optional<Operand> own = take_local(target);
  if (reach_.of_target(block_, k) == Reach::Never) return *own;
  const ValueId place = target == root ? gradients_.memory(root) : view_of_memory(root, target);
  ValueId taken = writer_.apply(core_ops().clone, {Operand::of(place)}, node);
  empty_memory(root, place, node);
  if (own) taken = writer_.apply(core_ops().add, {*own, Operand::of(taken)}, node);
  return Operand::of(taken);
}

void BlockBack::empty_memory(ValueId id, ValueId memory, const Node& like) {
  writer_.apply(core_ops().copy, {Operand::of(memory), Operand::of_number(gradients_.zero(id))}, like,
                Form::Write);
}

void BlockBack::add_in_memory(ValueId memory, const Operand& gradient, const Node& like) {
  writer_.apply(core_ops().add, {Operand::of(memory), gradient}, like, Form::Write);
}

void BlockBack::accumulate(ValueId id, const Operand& gradient, const Node& like) {
  if (way_.activity.is_in_memory(id)) return add_in_memory(gradients_.memory(id), gradient, like);
  const auto [known, is_first] = local_.try_emplace(id, gradient);
  if (!is_first) known->second = Operand::of(writer_.apply(core_ops().add, {known->second, gradient}, like));
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
    accumulate(operand, made, node);
    gradients_.arrive(operand, absent);
  }
}

}  // namespace kiln::jit
