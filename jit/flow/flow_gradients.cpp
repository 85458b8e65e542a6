#include "jit/flow/flow_gradients.h"

#include <algorithm>

#include "tensor/core_ops.h"
#include "tensor/functions.h"

namespace kiln::jit {

FlowGradients::FlowGradients(FlowWriter& writer, FlowBackward& made, const FlowWay& way,
                             const FlowReach& reach)
    : writer_(writer), made_(made), way_(way), reach_(reach) {
  for (const auto& [name, hint] : way.flow.hints) {
    if (number_of(name)) continue;
    writer_.flow.hints.emplace(name, hint);
    sizes_.emplace(name, Dim::symbol(name));
  }
  find_viewed();
  for (std::size_t id = 0; id < way.flow.values.size(); ++id)
    if (reach.is_uncertain(static_cast<ValueId>(id))) uncertain_.push_back(static_cast<ValueId>(id));
}

void FlowGradients::find_viewed() {
  for (const FlowBlock& block : way_.flow.blocks) {
    for (const FlowStep& step : block.steps) {
      const Node& node = step.node;
      if (node.is_constant()) continue;
      if (node.writes()) viewed_.insert(way_.activity.root(node.operands[0].value));
      for (const ValueId id : node.outputs) {
        for (const Node* view = way_.activity.view(id); view != nullptr;) {
          const ValueId shown = way_.activity.tensor(view->operands[0].value);
          viewed_.insert(shown);
          view = way_.activity.view(shown);
        }
      }
    }
  }
}

// ---- Inputs ----

ValueId FlowGradients::input(FlowBackward::Input what, Type type, std::int64_t hint) {
  writer_.flow.inputs.push_back(what.kind == FlowBackward::Input::Kind::Cotangent ? Role::Grad
                                                                                  : Role::Argument);
  made_.inputs.push_back(std::move(what));
  return writer_.value(std::move(type), hint);
}
// Over the symbols of this flow.
Type FlowGradients::own_type(ValueId id) const {
  Type type = way_.flow.type(id);
  for (Dim& each : type.sizes) each = substitute(each, sizes_);
  return type;
}

// Is the gradient of the input a sum that begins before the flow runs back?
bool FlowGradients::is_summed(std::size_t input) const {
  const auto is_input = [input](const auto& each) { return each.second == static_cast<ValueId>(input); };
  return way_.wanted[input] && reach_.of_input(input) != Reach::Never &&
         std::none_of(outputs_.begin(), outputs_.end(), is_input);
}

// Numbers first, as types of tensors follow them.
void FlowGradients::add_inputs(const Outputs& outputs) {
  outputs_ = outputs;
  const std::set<ValueId> read = read_inputs();
  std::vector<ValueId> tensors;
  for (const auto& [number, tensor] : outputs) tensors.push_back(tensor);
  for (std::size_t i = 0; i < way_.wanted.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (is_summed(i) || (read.contains(id) && !way_.flow.type(id).is_number)) tensors.push_back(id);
  }
  add_numbers(read, tensors);
  const auto gradient_type = [this](ValueId id) {
    Type type = own_type(id);
    type.strides.reset();
    return type;
  };
  for (const auto& [number, tensor] : outputs)
    memory_[tensor] = input({FlowBackward::Input::Kind::Cotangent, number, {}, 0}, gradient_type(tensor));
  for (std::size_t i = 0; i < way_.wanted.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (is_summed(i))
      memory_[id] = input({FlowBackward::Input::Kind::Gradient, i, {}, zero(id)}, gradient_type(id));
    if (read.contains(id) && !way_.flow.type(id).is_number)
      given_[id] = input({FlowBackward::Input::Kind::Given, i, {}, 0}, own_type(id));
  }
}

void FlowGradients::add_numbers(const std::set<ValueId>& read, const std::vector<ValueId>& tensors) {
  for (std::size_t i = 0; i < way_.flow.inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Type& type = way_.flow.type(id);
    if (!type.is_number) continue;
    const bool is_int = type.dtype == DType::I64;
    if (!is_int && !read.contains(id)) continue;
    given_[id] = input({FlowBackward::Input::Kind::Given, i, {}, 0}, type,
                       is_int ? way_.flow.hints.at(symbol_of(id)) : 1);
    if (is_int) sizes_.insert_or_assign(symbol_of(id), Dim::symbol(symbol_of(given_[id])));
  }
  add_symbols(tensors);
}

// Of the flow: those whose elements are read on the way back.
std::set<ValueId> FlowGradients::read_inputs() const {
  std::set<ValueId> read;
  for (const FlowBlock& block : way_.flow.blocks) {
    for (const FlowStep& step : block.steps) {
      if (!is_differentiated(way_.activity, step.node)) continue;
      for (const std::size_t i : read_operands(way_.activity, step.node)) {
        const ValueId id = step.node.operands[i].value;
        if (!is_given(way_.flow, way_.activity, id)) continue;
        read.insert(way_.flow.type(id).is_number ? id : way_.activity.root(id));
      }
    }
  }
  return read;
}

// Symbols of sizes that no tensor among the inputs of this flow has as a size.
void FlowGradients::add_symbols(const std::vector<ValueId>& tensors) {
  std::set<std::string> bound;
  for (const ValueId id : tensors)
    for (const Dim each : way_.flow.type(id).sizes) bound.insert(each.text());
  for (const auto& [name, hint] : way_.flow.hints) {
    if (number_of(name) || bound.contains(name)) continue;
    const ValueId id = input({FlowBackward::Input::Kind::Symbol, 0, name, 0}, number_type(DType::I64), hint);
    sizes_.insert_or_assign(name, Dim::symbol(symbol_of(id)));
  }
}

void FlowGradients::begin() {
  if (uncertain_.empty()) return;
  FlowStep step;
  step.node.constant = ops::full(Dims{Dim(uncertain_.size())}, Tensor::number(true), DType::Bool, Device{});
  absent_ = writer_.add(std::move(step))[0];
  for (const auto& [number, tensor] : outputs_) arrive(tensor, std::nullopt);
}

void FlowGradients::finish(ExitId done) {
  std::vector<Operand>& values = writer_.flow.exits[static_cast<std::size_t>(done)].values;
  for (std::size_t i = 0; i < way_.wanted.size(); ++i) {
    made_.continues.push_back(is_summed(i) && !reach_.is_summed_apart(i));
    std::optional<std::size_t>& place = made_.gradients.emplace_back();
    if (!way_.wanted[i] || reach_.of_input(i) == Reach::Never) continue;
    place = values.size();
    values.push_back(Operand::of(memory(static_cast<ValueId>(i))));
  }
  if (uncertain_.empty()) return;
  for (std::size_t k = 0; k < uncertain_.size(); ++k) {
    const auto input = static_cast<std::size_t>(uncertain_[k]);
    if (input < way_.wanted.size()) made_.uncertain.emplace_back(input, k);
  }
  made_.absent = values.size();
  values.push_back(Operand::of(absent_));
}

// ---- What has come ----

ArrivedGradient FlowGradients::take(ValueId tensor, const Node& like) {
  const std::optional<ValueId> absent = take_absence(tensor);
  if (way_.activity.is_in_memory(tensor)) return {Operand::of(emptied(tensor, memory(tensor), like)), absent};
  const auto known = local_.find(tensor);
  if (known == local_.end()) throw InternalError("the gradient of a tensor of the loop was not made");
  Operand taken = std::move(known->second);
  local_.erase(known);
  return {std::move(taken), absent};
}

ArrivedGradient FlowGradients::take_part(ValueId root, ValueId part, bool shows_all, const Node& like) {
  const std::optional<ValueId> absent = take_absence(root);
  if (!shows_all) arrive(root, absent);
  return {Operand::of(emptied(root, part, like)), absent};
}

// What the memory holds, which is zeros then.
ValueId FlowGradients::emptied(ValueId tensor, ValueId memory, const Node& like) {
  const ValueId taken = writer_.apply(core_ops().clone, {Operand::of(memory)}, like);
  writer_.apply(core_ops().copy, {Operand::of(memory), Operand::of_number(zero(tensor))}, like, Form::Write);
  return taken;
}

void FlowGradients::add(ValueId tensor, const ArrivedGradient& arrived, const Node& like) {
  if (way_.activity.is_in_memory(tensor)) return add_part(tensor, memory(tensor), arrived, like);
  const auto [known, is_first] = local_.try_emplace(tensor, arrived.gradient);
  if (!is_first)
    known->second = Operand::of(writer_.apply(core_ops().add, {known->second, arrived.gradient}, like));
  arrive(tensor, arrived.absent);
}

void FlowGradients::add_part(ValueId tensor, ValueId part, const ArrivedGradient& arrived, const Node& like) {
  writer_.apply(core_ops().add, {Operand::of(part), arrived.gradient}, like, Form::Write);
  arrive(tensor, arrived.absent);
}

void FlowGradients::end_block() const {
  if (!local_.empty()) throw InternalError("the gradient of a tensor of the loop was not given on");
}

// Made in the first block, where it is defined on all ways.
ValueId FlowGradients::memory(ValueId tensor) {
  const auto known = memory_.find(tensor);
  if (known != memory_.end()) return known->second;
  static const Op& full = core_ops().full;
  const Type& type = way_.flow.type(tensor);
  Dims sizes = type.sizes;
  for (Dim& each : sizes) each = substitute(each, sizes_);
  Attrs attrs(full);
  attrs.set("size", sizes).set("dtype", type.dtype).set("device", type.device);
  const BlockId here = writer_.at();
  writer_.go_on_in(0);
  const ValueId made = writer_.apply(full, {Operand::of_number(zero(tensor))}, attr_list(attrs), Node{});
  writer_.go_on_in(here);
  return memory_[tensor] = made;
}

// As a view without dimensions; kAbsent of other tensors.
ValueId FlowGradients::absence(ValueId tensor) {
  const auto known = std::find(uncertain_.begin(), uncertain_.end(), tensor);
  return known == uncertain_.end() ? Operand::kAbsent : writer_.element(absent_, known - uncertain_.begin());
}

std::optional<ValueId> FlowGradients::take_absence(ValueId tensor) {
  const ValueId here = absence(tensor);
  if (here == Operand::kAbsent) return std::nullopt;
  const ValueId taken = writer_.apply(core_ops().clone, {Operand::of(here)}, Node{});
  writer_.apply(core_ops().copy, {Operand::of(here), Operand::of_number(true)}, Node{}, Form::Write);
  return taken;
}

void FlowGradients::arrive(ValueId tensor, const std::optional<ValueId>& absent) {
  const ValueId here = absence(tensor);
  if (here == Operand::kAbsent) return;
  Operand now = Operand::of_number(false);
  if (absent) {
    const auto item = [this](ValueId id) {
      return Operand::of(writer_.number(NumberOp::Item, {Operand::of(id)}));
    };
    now = Operand::of(writer_.number(NumberOp::And, {item(here), item(*absent)}));
  }
  writer_.apply(core_ops().copy, {Operand::of(here), now}, Node{}, Form::Write);
}

}  // namespace kiln::jit
