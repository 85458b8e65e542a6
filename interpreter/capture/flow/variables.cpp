// Variables that are no registers: those of modules, and those that closures share. What the loop assigns of
// them is carried like a register, and put where the loop is left.
#include <algorithm>

#include "interpreter/capture/flow/reader.h"

namespace kiln::interp::capture {

SourceId FlowReader::function_source() {
  if (state_.in_call()) {
    const FlowItem& function = frame().function;
    if (function.source >= 0) return function.source;
    Source source;
    source.key = function.known;
    return inputs_.add_source(std::move(source));
  }
  Source source;
  source.kind = Source::Kind::FrameFunction;
  return inputs_.add_source(std::move(source));
}

const Function& FlowReader::function() {
  return state_.in_call() ? frame().function.known.as<Function>() : *entry_frame_.function;
}

FlowVariable FlowReader::slot(Module& module, std::uint32_t number) {
  Source source;
  source.kind = Source::Kind::Slot;
  source.key = Value(static_cast<Object*>(&module));
  source.number = number;
  source.text = module.names[number];
  return {inputs_.add_source(std::move(source)), module.slots[number]};
}

FlowVariable FlowReader::in_cell(const Value& cell, SourceId source) {
  const SourceId owner = inputs_.owner(cell, source);
  return {inputs_.part(owner, Source::Kind::Cell, 0, ""), cell.as<Cell>().value};
}

FlowVariable FlowReader::captured(std::uint32_t number) {
  const std::string text(function().code->function->captures[number].name);
  const SourceId cell = inputs_.part(function_source(), Source::Kind::Capture, number, text);
  return in_cell(function().captures[number], cell);
}

FlowItem FlowReader::value_of(const FlowVariable& variable) {
  for (std::size_t k = 0; k < knowledge_.assigned.size(); ++k) {
    if (knowledge_.assigned[k].source == variable.source) return state_.variables[k];
  }
  return FlowItem::at(variable.now, variable.source);
}

// Where a tensor was changed in place, it is assigned to where it was found.
void FlowReader::assign(const FlowVariable& variable, const FlowItem& value) {
  const FlowItem now = value_of(variable);
  if (same_item(now, value)) return;
  if (value.is(FlowItem::Kind::Tensor) && now.known.is(Tag::Tensor) && same_item(forced(now), value)) return;
  refuse_iterators({value});
  std::vector<jit::Operand> values;
  if (!held(value, values)) throw Unsupported{text_of(value) + " is assigned to a variable"};
  const auto known = std::find_if(knowledge_.assigned.begin(), knowledge_.assigned.end(),
                                  [&](const FlowVariable& each) { return each.source == variable.source; });
  if (known == knowledge_.assigned.end()) {
    knowledge_.assigned.push_back(variable);
    throw ReadAgain{};
  }
  state_.variables[static_cast<std::size_t>(known - knowledge_.assigned.begin())] = value;
}

// Where the module has no such variable, the prelude may have one.
FlowItem FlowReader::module_variable(std::uint32_t number, std::string_view name) {
  const FlowVariable variable = slot(function().module.as<Module>(), number);
  const FlowItem value = value_of(variable);
  if (!value.known.is_unset()) return value;
  const Value* found = vm_.find_prelude(name);
  if (found == nullptr) throw Unsupported{"`" + std::string(name) + "` has no value"};
  inputs_.expect_same(value);
  return FlowItem::constant(*found);
}

bool FlowReader::use_variable() {
  const Instruction& i = at();
  const auto given = [this](const FlowVariable& variable) {
    FlowItem value = value_of(variable);
    if (value.known.is_unset()) throw Unsupported{"a variable has no value"};
    return value;
  };
  const auto cell = [this](std::uint32_t r) {
    const FlowItem& shared = reg(r);
    if (!shared.known.is(Tag::Cell)) throw Unsupported{"a variable that a closure shares"};
    return in_cell(shared.known, shared.source);
  };
  switch (opcode()) {
    case Opcode::GetGlobal:
    case Opcode::GetPrelude:
      reg(i.a) = module_variable(i.b, function().module.as<Module>().names[i.b]);
      return true;
    case Opcode::GetCell:
      reg(i.a) = given(cell(i.b));
      return true;
    case Opcode::GetCapture:
      reg(i.a) = given(captured(i.b));
      return true;
    case Opcode::SetGlobal:
      assign(slot(function().module.as<Module>(), i.b), reg(i.a));
      return true;
    case Opcode::SetCell:
      assign(cell(i.b), reg(i.a));
      return true;
    case Opcode::SetCapture:
      assign(captured(i.b), reg(i.a));
      return true;
    default:
      return false;
  }
}

}  // namespace kiln::interp::capture
