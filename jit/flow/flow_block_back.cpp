#include "jit/flow/flow_block_back.h"

#include <algorithm>
#include <memory>

#include "jit/graph/custom.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

using Kind = FlowKept::Kind;

TensorType trace_type(const Type& type) { return {type.dtype, type.device, type.sizes, type.is_number}; }

// The derivative of the step, as its row has it. The type of what is computed may differ from that of what it
// is written to.
Tensors run_rule(const FlowGraph& flow, const Node& node, const RuleInputs& at, Inputs traced,
                 std::span<const bool> needs) {
  const Attrs attrs = to_attrs(*node.op, node.attrs);
  const auto found = [&](const std::vector<int>& positions) {
    Tensors tensors;
    for (const int each : positions)
      tensors.push_back(each < 0 ? Tensor() : traced[static_cast<std::size_t>(each)]);
    return tensors;
  };
  std::vector<TensorType> operand_types, result_types;
  for (const Operand& each : node.operands) {
    const bool is_absent = !each.is_value() && !each.is_number();
    operand_types.push_back(trace_type(is_absent ? absent_type() : operand_type(flow, each)));
  }
  result_types = node.op->infer(operand_types, attrs);
  Tensors gradients = found(at.gradients);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const TensorType& type = result_types[k];
    if (!gradients[k]) gradients[k] = ops::zeros(type.sizes, type.dtype, type.device);
    if (gradients[k].dtype() != type.dtype) gradients[k] = ops::to(gradients[k], type.dtype);
  }
  const Tensors operands = found(at.operands), results = found(at.results);
  return derivative_of(*node.op)(
      {*node.op, attrs, operands, results, operand_types, result_types, gradients, needs});
}

}  // namespace

void BlockBack::pop(const std::vector<FlowKept>& kept) {
  std::for_each(kept.rbegin(), kept.rend(), [this](const FlowKept& each) { pop(each); });
}

void BlockBack::steps(const FlowBlock& block, const FlowKeptBlock& kept) {
  for (std::size_t k = block.steps.size(); k-- > 0;) {
    pop(kept.after[k]);
    results_.swap(copies_);
    copies_.clear();
    pop(kept.before[k]);
    step(block.steps[k].node);
    results_.clear();
    copies_.clear();
  }
}

ValueId BlockBack::gradient(ValueId id) {
  const auto known = gradients_.find(id);
  if (known != gradients_.end()) return known->second;
  const Node& view = *activity_.shown_by(id);
  ValueId shown = gradient(view.viewed().value);
  if (!view.writes()) shown = writer_.apply(*view.op, {Operand::of(shown)}, here(view.attrs), view);
  return gradients_[id] = shown;
}

void BlockBack::pop(const FlowKept& kept) {
  if (kept.kind == Kind::From) {
    from_ = writer_.pop(number_type(DType::I64), 0);
  } else if (kept.kind == Kind::Size) {
    const std::int64_t hint = hint_of(kept.symbol);
    sizes_.insert_or_assign(kept.symbol, Dim::symbol(symbol_of(writer_.pop(number_type(DType::I64), hint))));
  } else {
    const Type& type = flow_.type(kept.id);
    if (type.is_number) {
      values_[kept.id] = writer_.pop(type, hint_of(symbol_of(kept.id)));
      return;
    }
    const ValueId made = writer_.pop({type.dtype, type.device, here(type.sizes), false, std::nullopt});
    (kept.kind == Kind::Gradient ? gradients_ : kept.kind == Kind::Copy ? copies_ : values_)[kept.id] = made;
  }
}
std::int64_t BlockBack::hint_of(const std::string& symbol) const {
  const auto found = flow_.hints.find(symbol);
  return found == flow_.hints.end() ? 1 : found->second;
}

Dims BlockBack::here(Dims sizes) const {
  for (Dim& each : sizes) each = here(each);
  return sizes;
}
std::vector<Attr> BlockBack::here(std::vector<Attr> attrs) const {
  for (Attr& each : attrs) {
    if (auto* size = std::get_if<Dim>(&each)) *size = here(*size);
    if (auto* sizes = std::get_if<Dims>(&each)) *sizes = here(*sizes);
  }
  return attrs;
}
Operand BlockBack::here(Operand operand) const {
  if (auto* size = std::get_if<Dim>(&operand.number); operand.is_number() && size != nullptr)
    *size = here(*size);
  return operand;
}
Fragment BlockBack::here(Fragment fragment) const {
  for (Fragment::Step& each : fragment.steps) {
    each.attrs = here(std::move(each.attrs));
    for (Operand& operand : each.operands) operand = here(std::move(operand));
  }
  for (Operand& each : fragment.outputs) each = here(std::move(each));
  for (SizeGuard& each : fragment.guards) {
    each.a = here(each.a);
    each.b = here(each.b);
  }
  return fragment;
}

void BlockBack::step(const Node& node) {
  if (!is_differentiated(activity_, node)) return;
  RuleInputs inputs;
  if (!take_gradients(node, inputs)) return;
  inputs.operands.assign(node.operands.size(), -1);
  inputs.results.assign(node.outputs.size(), -1);
  for (const std::size_t i : read_operands(activity_, node))
    inputs.operands[i] = add(inputs, node.operands[i].value, copies_);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i].is_number())
      inputs.operands[i] = inputs.add(traced(flow_, node.operands[i]), here(node.operands[i]));
  }
  for (const std::size_t k : read_results(activity_, node))
    inputs.results[k] = add(inputs, node.outputs[k], results_);
  apply_rule(node, inputs);
}
int BlockBack::add(RuleInputs& inputs, ValueId id, const std::map<ValueId, ValueId>& copies) const {
  const auto copy = copies.find(id);
  const ValueId value = copy != copies.end() ? copy->second : values_.at(id);
  return inputs.add(traced(flow_, Operand::of(id)), Operand::of(value));
}

bool BlockBack::take_gradients(const Node& node, RuleInputs& inputs) {
  bool any = false;
  for (const ValueId id : node.outputs) {
    const std::optional<Operand> found = take_gradient(node, id);
    any = any || found;
    inputs.gradients.push_back(found ? inputs.add(traced(flow_, Operand::of(id)), *found) : -1);
  }
  return any;
}
std::optional<Operand> BlockBack::take_gradient(const Node& node, ValueId id) {
  if (!activity_.is_active(id)) return std::nullopt;
  if (!activity_.is_in_memory(id)) {
    const auto found = local_.find(id);
    if (found == local_.end()) return std::nullopt;
    return found->second;
  }
  const ValueId memory = gradient(id);
  if (!node.writes()) return Operand::of(memory);
  // Nothing of what was there before has this gradient.
  const ValueId taken = writer_.apply(core_ops().clone, {Operand::of(memory)}, node);
  writer_.apply(core_ops().copy, {Operand::of(memory), Operand::of_number(0.0)}, node, Form::Write);
  return Operand::of(taken);
}

void BlockBack::apply_rule(const Node& node, const RuleInputs& inputs) {
  const std::size_t count = node.operands.size();
  const auto needs = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) needs[i] = activity_.is_active(node.operands[i]);
  if (std::none_of(needs.get(), needs.get() + count, [](bool each) { return each; })) return;
  const auto body = [&](Inputs given) { return run_rule(flow_, node, inputs, given, {needs.get(), count}); };
  const std::optional<Fragment> rule = trace(body, inputs.traced, flow_.hints, differentiates_by_body);
  if (!rule)
    throw OpError(ErrorKind::Capture,
                  "the derivative of " + std::string(node.op->name()) + " reads elements");
  FlowStep like;
  like.node.place = node.place;
  like.node.origin = std::string(node.op->name());
  like.exit = other_sizes_;
  const std::vector<Operand> gradients = writer_.inline_fragment(here(*rule), inputs.given, like);
  for (std::size_t i = 0; i < count; ++i) {
    if (needs[i] && gradients[i].is_value()) accumulate(node.operands[i].value, gradients[i], node);
  }
}
void BlockBack::accumulate(ValueId id, const Operand& gradient_of_id, const Node& like) {
  if (activity_.is_in_memory(id)) {
    writer_.apply(core_ops().add, {Operand::of(gradient(id)), gradient_of_id}, like, Form::Write);
    return;
  }
  const auto [known, is_first] = local_.try_emplace(id, gradient_of_id);
  if (!is_first)
    known->second = Operand::of(writer_.apply(core_ops().add, {known->second, gradient_of_id}, like));
}

}  // namespace kiln::jit
