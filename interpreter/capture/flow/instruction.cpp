// What each instruction does with abstract values.
#include <fmt/format.h>

#include <utility>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

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
  if (can_leave(resume_of(state_))) {
    replay_ = Replay{frame().pc, frame().registers, state_.variables};
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
    if (known != knowledge_.unsupported.end()) return leave(known->second, true);
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
      load() || use_variable() || operate() || compare_and_jump() || jump() || collect() || access();
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
    case Opcode::Copy: {
      const FlowItem item = reg(i.b);
      refuse_iterators({item});
      reg(i.a) = item;
      return true;
    }
    case Opcode::Take: {
      FlowItem item = std::exchange(reg(i.b), {});
      reg(i.a) = std::move(item);
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

bool FlowReader::collect() {
  const Instruction& i = at();
  const auto parts = [&](std::uint32_t first, std::uint32_t count) {
    std::vector<FlowItem> items;
    for (std::uint32_t k = 0; k < count; ++k) items.push_back(reg(first + k));
    refuse_iterators(items);
    return items;
  };
  switch (opcode()) {
    case Opcode::BuildTuple:
      reg(i.a) = FlowItem::group(FlowItem::Kind::Tuple, parts(i.b, i.c));
      return true;
    case Opcode::BuildList:
      reg(i.a) = FlowItem::group(FlowItem::Kind::List, parts(i.b, i.c));
      return true;
    case Opcode::ListAppend: {
      const FlowItem list = reg(i.a);
      if (!list.known.is(Tag::List)) throw Unsupported{"a list is made"};
      append(list, reg(i.b));
      return true;
    }
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
      if (object.is(FlowItem::Kind::Known)) {
        set_index(object, reg(i.b), changed);
        return true;
      }
      const bool are_tensors = object.is(FlowItem::Kind::Tensor) && changed.is(FlowItem::Kind::Tensor);
      if (!are_tensors || !shares_storage(object.tensor, changed.tensor))
        throw Unsupported{"an item is changed that is no part of a tensor"};
      return true;
    }
    case Opcode::SetAttribute:
      set_attribute(reg(i.a), frame().code->sites[i.c].name, reg(i.b));
      return true;
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
    case Opcode::EndInit:  // what fields hold was looked at when they got it
      return reg(i.a).is(FlowItem::Kind::Struct);
    case Opcode::CheckArguments:
      check_arguments();
      return true;
    case Opcode::CheckResult:
      check_result(reg(i.a));
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
