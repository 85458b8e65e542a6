// What each instruction does with abstract values.
#include <fmt/format.h>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/capture/observe.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using lang::BinaryOp;
using lang::CompareOp;
using lang::UnaryOp;

std::string FlowReader::place_key() const {
  std::string key = place_->key + "@";
  for (const FlowFrame& each : state_.frames) key += fmt::format("{},", each.pc);
  return key;
}

void FlowReader::refuse(const std::string& reason) {
  std::string text = reason;
  const lang::Span span = frame().code->span(frame().pc);
  if (span.file != nullptr) text += fmt::format(" (line {})", span.file->locate(span.begin).line);
  knowledge_.unsupported.emplace(current_, text);
  throw ReadAgain{};
}

void FlowReader::place_instruction() {
  const lang::Span span = frame().code->span(frame().pc);
  if (span.file != nullptr) {
    const lang::LineColumn at = span.file->locate(span.begin);
    notes_.set_place(
        {std::string(span.file->name()), static_cast<int>(at.line), static_cast<int>(at.column)});
  }
  if (state_.in_call()) {
    notes_.begin_instruction(state_.fresh_since);
    return;
  }
  if (can_leave(frame().pc, frame().registers)) {
    replay_ = Replay{frame().pc, frame().registers, {}};
    notes_.begin_instruction(notes_.now());
  } else if (notes_.wrote()) {
    replay_.reset();
  }
}

void FlowReader::instructions() {
  notes_.begin_instruction(notes_.now());
  for (bool is_first = true; !ended_; is_first = false) {
    const bool is_outside = !state_.in_call() && !loop_.contains(frame().pc);
    if (!is_first && (is_outside || targets(*frame().code)[frame().pc])) return go_to(frame().pc);
    place_instruction();
    current_ = place_key();
    const auto known = knowledge_.unsupported.find(current_);
    if (known != knowledge_.unsupported.end()) return leave(known->second);
    try {
      instruction();
      if (!ended_) notes_.settle_guards();
    } catch (const Unsupported& unsupported) {
      refuse(unsupported.reason);
    } catch (const OpError& error) {
      if (error.kind() == ErrorKind::Interrupted) throw;
      refuse(error.message());
    } catch (const lang::UserError& error) {
      refuse(error.diagnostic().message);
    }
    if (state_.in_call()) state_.wrote = state_.wrote || notes_.wrote();
  }
}

namespace {

// What stands there in the program, up to the end of its line.
std::string first_line(const lang::Span& span) {
  if (span.file == nullptr) return "an instruction";
  const std::string_view text = span.text();
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? fmt::format("`{}`", text)
                                       : fmt::format("`{} …`", text.substr(0, end));
}

}  // namespace

void FlowReader::instruction() {
  const std::size_t depth = state_.frames.size();
  const std::size_t pc = frame().pc;
  const bool is_known =
      load() || look_up_variable() || operate() || compare_and_jump() || jump() || collect() || access();
  if (!is_known) throw Unsupported{first_line(frame().code->span(frame().pc)) + " cannot be part of it"};
  // Calls and returns say themselves where they go on.
  if (!ended_ && state_.frames.size() == depth && frame().pc == pc) ++frame().pc;
}

std::size_t FlowReader::target() const {
  const FlowFrame& top = state_.top();
  return static_cast<std::size_t>(static_cast<std::int64_t>(top.pc) + jump_of(*top.code, top.pc));
}

bool FlowReader::load() {
  const Instruction& i = at();
  switch (opcode()) {
    case Opcode::LoadConstant:
      reg(i.a) = FlowItem::constant(frame().code->constants[static_cast<std::size_t>(i.wide())]);
      return true;
    case Opcode::LoadInt:
      reg(i.a) = FlowItem::constant(std::int64_t{i.wide()});
      return true;
    case Opcode::LoadNone:
      reg(i.a) = {};
      return true;
    case Opcode::LoadBool:
      reg(i.a) = FlowItem::constant(i.b != 0);
      return true;
    case Opcode::LoadEllipsis:
      reg(i.a) = FlowItem::at(Value::ellipsis(), -1);
      return true;
    case Opcode::Copy:
    case Opcode::Take: {
      const FlowItem item = reg(i.b);
      reg(i.a) = item;
      return true;
    }
    case Opcode::Drop:
    case Opcode::EndFor:
      reg(i.a) = {};
      return true;
    case Opcode::Word:
      return true;
    case Opcode::UnsetLocals:
      for (std::uint32_t r = i.a; r < i.a + std::uint32_t{i.b}; ++r)
        reg(r) = FlowItem::at(Value::unset(), -1);
      return true;
    case Opcode::CheckLocal:
      if (reg(i.a).known.is_unset()) throw Unsupported{"a variable has no value"};
      return true;
    default:
      return false;
  }
}

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

bool FlowReader::look_up_variable() {
  const Instruction& i = at();
  const Function& function =
      state_.in_call() ? frame().function.known.as<Function>() : *entry_frame_.function;
  switch (opcode()) {
    case Opcode::GetGlobal:
    case Opcode::GetPrelude: {
      Module& module = function.module.as<Module>();
      const Value& value = module.slots[i.b];
      Source source;
      source.kind = Source::Kind::Slot;
      source.key = Value(static_cast<Object*>(&module));
      source.number = i.b;
      source.text = module.names[i.b];
      const SourceId id = inputs_.add_source(std::move(source));
      if (!value.is_unset()) {
        reg(i.a) = FlowItem::at(value, id);
        return true;
      }
      const Value* found = vm_.find_prelude(module.names[i.b]);
      if (found == nullptr) throw Unsupported{"`" + module.names[i.b] + "` has no value"};
      inputs_.expect_equal(value, id);
      reg(i.a) = FlowItem::constant(*found);
      return true;
    }
    case Opcode::GetCell: {
      const FlowItem cell = reg(i.b);
      if (!cell.known.is(Tag::Cell)) throw Unsupported{"a variable that a closure shares"};
      const Value& value = cell.known.as<Cell>().value;
      if (value.is_unset()) throw Unsupported{"a variable has no value"};
      reg(i.a) = FlowItem::at(value, inputs_.part(cell.source, Source::Kind::Cell, 0, ""));
      return true;
    }
    case Opcode::GetCapture: {
      const Value& value = function.captures[i.b].as<Cell>().value;
      const std::string text(frame().code->names[i.c]);
      if (value.is_unset()) throw Unsupported{"`" + text + "` has no value"};
      const SourceId cell = inputs_.part(function_source(), Source::Kind::Capture, i.b, text);
      reg(i.a) = FlowItem::at(value, inputs_.part(cell, Source::Kind::Cell, 0, ""));
      return true;
    }
    case Opcode::SetGlobal:
      throw Unsupported{"the variable `" + function.module.as<Module>().names[i.b] +
                        "` of the module is assigned"};
    case Opcode::SetCell:
    case Opcode::SetCapture:
      throw Unsupported{"a variable is assigned that a closure shares"};
    default:
      return false;
  }
}

bool FlowReader::operate() {
  const Instruction& i = at();
  const FlowItem small = FlowItem::constant(std::int64_t{i.c_number()});
  switch (opcode()) {
#define KILN_ARITHMETIC_CASE(name)                                                  \
  case Opcode::name:                                                                \
    reg(i.a) = binary(BinaryOp::name, reg(i.b), reg(i.c));                          \
    return true;                                                                    \
  case Opcode::name##Int:                                                           \
    reg(i.a) = binary(BinaryOp::name, reg(i.b), small);                             \
    return true;                                                                    \
  case Opcode::Aug##name:                                                           \
    augmented(BinaryOp::name, i.a, reg(i.b));                                       \
    return true;                                                                    \
  case Opcode::Aug##name##Int:                                                      \
    augmented(BinaryOp::name, i.a, FlowItem::constant(std::int64_t{i.b_number()})); \
    return true;
    KILN_ARITHMETIC_CASE(Add)
    KILN_ARITHMETIC_CASE(Sub)
    KILN_ARITHMETIC_CASE(Mul)
#undef KILN_ARITHMETIC_CASE
    case Opcode::Div:
      reg(i.a) = binary(BinaryOp::Div, reg(i.b), reg(i.c));
      return true;
    case Opcode::FloorDiv:
      reg(i.a) = binary(BinaryOp::FloorDiv, reg(i.b), reg(i.c));
      return true;
    case Opcode::Mod:
      reg(i.a) = binary(BinaryOp::Mod, reg(i.b), reg(i.c));
      return true;
    case Opcode::ModInt:
      reg(i.a) = binary(BinaryOp::Mod, reg(i.b), small);
      return true;
    case Opcode::Binary:
      reg(i.a) = binary(static_cast<BinaryOp>((&i)[1].a), reg(i.b), reg(i.c));
      return true;
    case Opcode::AugDiv:
      augmented(BinaryOp::Div, i.a, reg(i.b));
      return true;
    case Opcode::AugBinary:
      augmented(static_cast<BinaryOp>(i.c), i.a, reg(i.b));
      return true;
    case Opcode::Negate:
      reg(i.a) = unary(UnaryOp::Neg, reg(i.b));
      return true;
    case Opcode::Positive:
      reg(i.a) = unary(UnaryOp::Pos, reg(i.b));
      return true;
    case Opcode::Invert:
      reg(i.a) = unary(UnaryOp::Invert, reg(i.b));
      return true;
    case Opcode::Not:
      reg(i.a) = negated(truth(reg(i.b)));
      return true;
    case Opcode::Compare:
      reg(i.a) = identity_compared(static_cast<CompareOp>((&i)[1].a), reg(i.b), reg(i.c));
      return true;
    default:
      return false;
  }
}

bool FlowReader::compare_and_jump() {
  const Instruction& i = at();
  const auto op = comparison_of(opcode());
  if (!op) return false;
  const std::string_view letters = operands(opcode());
  if (letters == "wrr") {
    reg(i.a) = compared(*op, reg(i.b), reg(i.c));
    return true;
  }
  const FlowItem other = letters == "rrj" ? reg(i.b) : FlowItem::constant(std::int64_t{i.b_number()});
  const FlowItem holds = truth(compared(*op, reg(i.a), other));
  const bool is_negated = name(opcode()).starts_with("JumpIfNot");
  const std::size_t to = target(), next = frame().pc + 1;
  notes_.settle_guards();
  branch(holds, is_negated ? next : to, is_negated ? to : next);
  return true;
}

bool FlowReader::jump() {
  const Instruction& i = at();
  switch (opcode()) {
    case Opcode::Jump:
    case Opcode::Loop:
      go_to(target());
      return true;
    case Opcode::JumpIfTrue:
    case Opcode::JumpIfTrueKeep: {
      const FlowItem holds = truth(reg(i.a));
      notes_.settle_guards();
      branch(holds, target(), frame().pc + 1);
      return true;
    }
    case Opcode::ChainLink:
      if (reg(i.a).is(FlowItem::Kind::Tensor)) throw Unsupported{"a chain of comparisons of tensors"};
      [[fallthrough]];
    case Opcode::JumpIfFalse:
    case Opcode::JumpIfFalseKeep: {
      const FlowItem holds = truth(reg(i.a));
      notes_.settle_guards();
      branch(holds, frame().pc + 1, target());
      return true;
    }
    case Opcode::BeginFor:
      begin_for();
      return true;
    case Opcode::NextFor:
      next_for();
      return true;
    case Opcode::Return:
    case Opcode::ReturnNone: {
      FlowItem value;
      if (opcode() == Opcode::Return) value = reg(i.a);
      return_value(std::move(value));
      return true;
    }
    default:
      return false;
  }
}

bool FlowReader::collect() {
  const Instruction& i = at();
  const auto parts = [&](std::uint32_t first, std::uint32_t count) {
    std::vector<FlowItem> items;
    for (std::uint32_t k = 0; k < count; ++k) items.push_back(reg(first + k));
    return items;
  };
  switch (opcode()) {
    case Opcode::BuildTuple:
      reg(i.a) = FlowItem::group(FlowItem::Kind::Tuple, parts(i.b, i.c));
      return true;
    case Opcode::BuildList:
      reg(i.a) = FlowItem::group(FlowItem::Kind::List, parts(i.b, i.c));
      return true;
    case Opcode::BuildSlice:
      reg(i.a) = FlowItem::group(FlowItem::Kind::Slice, parts(i.b, 3));
      return true;
    case Opcode::Unpack: {
      const std::vector<FlowItem> items = items_of(reg(i.b));
      if (items.size() != i.c) throw Unsupported{"as many values as names are unpacked"};
      for (std::uint32_t k = 0; k < i.c; ++k) reg(i.a + k) = items[k];
      return true;
    }
    default:
      return false;
  }
}

bool FlowReader::access() {
  const Instruction& i = at();
  switch (opcode()) {
    case Opcode::GetIndex:
      reg(i.a) = get_index(reg(i.b), reg(i.c));
      return true;
    case Opcode::SetIndex:
      set_index(reg(i.a), reg(i.b), reg(i.c));
      return true;
    case Opcode::SetIndexBack: {
      const FlowItem object = forced(reg(i.a)), changed = forced(reg(i.c));
      const bool are_tensors = object.is(FlowItem::Kind::Tensor) && changed.is(FlowItem::Kind::Tensor);
      if (!are_tensors || !shares_storage(object.tensor, changed.tensor))
        throw Unsupported{"an item is changed that is no part of a tensor"};
      return true;
    }
    case Opcode::SetAttribute:
      throw Unsupported{first_line(frame().code->span(frame().pc)) + " is assigned"};
    case Opcode::GetAttribute:
      reg(i.a) = attribute(reg(i.b), frame().code->sites[i.c]);
      return true;
    case Opcode::Call:
      call(i.a, i.b, {});
      return true;
    case Opcode::CallSpread:
      call(i.a, i.b, names_of(frame().code->shapes[i.c]));
      return true;
    case Opcode::CallMethod:
      method_call(i.a, i.b, frame().code->sites[i.c], {});
      return true;
    case Opcode::CallMethodSpread: {
      const CallShape& shape = frame().code->shapes[i.c];
      method_call(i.a, i.b, frame().code->sites[shape.site], names_of(shape));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace kiln::interp::capture
