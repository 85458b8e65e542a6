#include "jit/flow/flow_gradients.h"

#include <algorithm>
#include <limits>

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
  find_tensors();
}

void FlowGradients::find_tensors() {
  for (std::size_t id = 0; id < way_.flow.values.size(); ++id)
    if (reach_.is_uncertain(static_cast<ValueId>(id))) uncertain_.push_back(static_cast<ValueId>(id));
  std::set<ValueId> scattered;
  for (std::size_t b = 0; b < way_.flow.blocks.size(); ++b) {
    for (std::size_t k = 0; k < way_.flow.blocks[b].steps.size(); ++k) {
      for (const GradientMove& each : way_.moves.of_step(b, k)) {
        if (each.kind != GradientMove::Kind::Part) continue;
        const ValueId shown = each.to.front();
        if (!shows_all(way_.activity, each.from.front(), shown)) scattered.insert(shown);
      }
    }
  }
  scattered_.assign(scattered.begin(), scattered.end());
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
    memory_[tensor] = input({FlowBackward::Input::Kind::Cotangent, number, {}}, gradient_type(tensor));
  for (std::size_t i = 0; i < way_.wanted.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (is_summed(i)) memory_[id] = input({FlowBackward::Input::Kind::Gradient, i, {}}, gradient_type(id));
    if (read.contains(id) && !way_.flow.type(id).is_number)
      given_[id] = input({FlowBackward::Input::Kind::Given, i, {}}, own_type(id));
  }
}

void FlowGradients::add_numbers(const std::set<ValueId>& read, const std::vector<ValueId>& tensors) {
  for (std::size_t i = 0; i < way_.flow.inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Type& type = way_.flow.type(id);
    if (!type.is_number) continue;
    const bool is_int = type.dtype == DType::I64;
    if (!is_int && !read.contains(id)) continue;
    given_[id] = input({FlowBackward::Input::Kind::Given, i, {}}, type,
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
    const ValueId id = input({FlowBackward::Input::Kind::Symbol, 0, name}, number_type(DType::I64), hint);
    sizes_.insert_or_assign(name, Dim::symbol(symbol_of(id)));
  }
}

void FlowGradients::begin() {
  absent_ = flags(uncertain_.size());
  signed_ = flags(scattered_.size());
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
  if (way_.activity.is_in_memory(tensor)) {
    const ValueId taken = emptied(memory(tensor), Operand::of_number(-0.0), like);
    forget_zeros(tensor);
    return {Operand::of(taken), absent};
  }
  const auto known = local_.find(tensor);
  if (known == local_.end()) throw InternalError("the gradient of a tensor of the loop was not made");
  Operand taken = std::move(known->second);
  local_.erase(known);
  return {std::move(taken), absent};
}

ArrivedGradient FlowGradients::take_part(ValueId root, ValueId part, bool shows_all, const Node& like) {
  const std::optional<ValueId> absent = take_absence(root);
  if (shows_all) {
    const ValueId taken = emptied(part, Operand::of_number(-0.0), like);
    forget_zeros(root);
    return {Operand::of(taken), absent};
  }
  Operand left = Operand::of_number(0.0);
  if (absent)
    left = Operand::of(writer_.number(NumberOp::Select, {item(*absent), Operand::of_number(-0.0), left}));
  const ValueId taken = emptied(part, left, like);
  arrive(root, absent);
  return {Operand::of(taken), absent};
}

// What the memory holds, which is `left` then.
ValueId FlowGradients::emptied(ValueId memory, Operand left, const Node& like) {
  const ValueId taken = writer_.apply(core_ops().clone, {Operand::of(memory)}, like);
  writer_.apply(core_ops().copy, {Operand::of(memory), std::move(left)}, like, Form::Write);
  return taken;
}

void FlowGradients::add(ValueId tensor, const ArrivedGradient& arrived, const Node& like) {
  if (way_.activity.is_in_memory(tensor)) return add_part(tensor, memory(tensor), true, arrived, like);
  const auto [known, is_first] = local_.try_emplace(tensor, arrived.gradient);
  if (!is_first)
    known->second = Operand::of(writer_.apply(core_ops().add, {known->second, arrived.gradient}, like));
  arrive(tensor, arrived.absent);
}

void FlowGradients::add_part(ValueId tensor, ValueId part, bool shows_all, const ArrivedGradient& arrived,
                             const Node& like) {
  if (!shows_all) add_zeros_outside(tensor, part, arrived.absent, like);
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
  const ValueId made = writer_.apply(full, {Operand::of_number(-0.0)}, attr_list(attrs), Node{});
  writer_.go_on_in(here);
  return memory_[tensor] = made;
}

// ---- Flags ----

// By tensor, each of them true.
ValueId FlowGradients::flags(std::size_t count) {
  if (count == 0) return Operand::kAbsent;
  FlowStep step;
  step.node.constant = ops::full(Dims{Dim(count)}, Tensor::number(true), DType::Bool, Device{});
  return writer_.add(std::move(step))[0];
}

// As a view without dimensions; kAbsent of other tensors.
ValueId FlowGradients::flag(ValueId flags, const std::vector<ValueId>& tensors, ValueId tensor) {
  const auto known = std::find(tensors.begin(), tensors.end(), tensor);
  return known == tensors.end() ? Operand::kAbsent : writer_.element(flags, known - tensors.begin());
}

Operand FlowGradients::item(ValueId flag) {
  return Operand::of(writer_.number(NumberOp::Item, {Operand::of(flag)}));
}
void FlowGradients::set(ValueId flag, Operand value) {
  writer_.apply(core_ops().copy, {Operand::of(flag), std::move(value)}, Node{}, Form::Write);
}

ValueId FlowGradients::absence(ValueId tensor) { return flag(absent_, uncertain_, tensor); }

std::optional<ValueId> FlowGradients::take_absence(ValueId tensor) {
  const ValueId here = absence(tensor);
  if (here == Operand::kAbsent) return std::nullopt;
  const ValueId taken = writer_.apply(core_ops().clone, {Operand::of(here)}, Node{});
  set(here, Operand::of_number(true));
  return taken;
}

void FlowGradients::arrive(ValueId tensor, const std::optional<ValueId>& absent) {
  const ValueId here = absence(tensor);
  if (here == Operand::kAbsent) return;
  Operand now = Operand::of_number(false);
  if (absent) now = Operand::of(writer_.number(NumberOp::And, {item(here), item(*absent)}));
  set(here, std::move(now));
}

// ---- Signs of zeros ----

// The memory is -0.0 again.
void FlowGradients::forget_zeros(ValueId tensor) {
  const ValueId here = flag(signed_, scattered_, tensor);
  if (here != Operand::kAbsent) set(here, Operand::of_number(true));
}

// The gradient of a part is on the tape one of the whole that is zeros outside of the part. Those change an
// element that is -0.0, and no other one, and -0.0 comes from sums of -0.0 alone: where none is left, parts
// are added without a look at the whole.
void FlowGradients::add_zeros_outside(ValueId tensor, ValueId part, const std::optional<ValueId>& absent,
                                      const Node& like) {
  const ValueId may_be_there = flag(signed_, scattered_, tensor), whole = memory(tensor);
  Operand asked = item(may_be_there);
  if (absent) {
    const Operand has_come = Operand::of(writer_.number(NumberOp::Not, {item(*absent)}));
    asked = Operand::of(writer_.number(NumberOp::And, {std::move(asked), has_come}));
  }
  const BlockId here = writer_.at(), then = writer_.begin_block(), next = writer_.begin_block();
  FlowEnd& end = writer_.flow.blocks[static_cast<std::size_t>(here)].end;
  end.kind = FlowEnd::Kind::Branch;
  end.condition = std::move(asked);
  end.then = {then, {}};
  end.other = {next, {}};
  writer_.go_on_in(then);
  const ValueId kept = writer_.apply(core_ops().clone, {Operand::of(part)}, like);
  writer_.apply(core_ops().add, {Operand::of(whole), Operand::of_number(0.0)}, like, Form::Write);
  writer_.apply(core_ops().copy, {Operand::of(part), Operand::of(kept)}, like, Form::Write);
  set(may_be_there, has_negative_zero(kept, like));
  writer_.block().end.kind = FlowEnd::Kind::Jump;
  writer_.block().end.then = {next, {}};
  writer_.go_on_in(next);
}

// Also of -1 over a number that leaves the range of the dtype, which costs a look more.
Operand FlowGradients::has_negative_zero(ValueId elements, const Node& like) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto body = [](Inputs given) {
    return Tensors{ops::any(ops::eq(1.0 / given[0], Tensor::number(-kInfinity)))};
  };
  const TraceOperand traced_elements = traced(writer_.flow, Operand::of(elements));
  Fragment fragment = trace(body, {&traced_elements, 1}, writer_.flow.hints, expands_nothing).value();
  std::erase_if(fragment.guards, asks_for_small_size);
  FlowStep step;
  step.node.place = like.place;
  step.node.origin = like.origin;
  step.exit = writer_.failing;
  return writer_.inline_fragment(fragment, {Operand::of(elements)}, step)[0];
}

}  // namespace kiln::jit
