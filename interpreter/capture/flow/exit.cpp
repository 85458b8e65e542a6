// What the frame of the loop holds where the flow is left.
#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/flow/batched.h"
#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using Held = LoopFlow::Held;
using Kind = FlowItem::Kind;

std::string text_of_register_in(const Code& code, std::uint32_t r) {
  if (code.function != nullptr && r < code.function->locals.size())
    return std::string(code.function->locals[r]);
  return "a value";
}

// Nothing for what cannot be made again.
std::optional<Held> FlowReader::held(const FlowItem& item, std::vector<jit::Operand>& values) {
  Held held;
  switch (item.kind) {
    case Kind::Known:
      held.kind = item.source < 0 ? Held::Kind::Constant : Held::Kind::Source;
      held.number = item.source;
      if (item.source < 0) held.value = item.known;
      return held;
    case Kind::Number:
      if (item.is_literal()) {
        held.kind = Held::Kind::Constant;
        held.value = item.literal();
        return held;
      }
      [[fallthrough]];
    case Kind::Tensor:
      held.number = static_cast<std::int64_t>(values.size());
      if (item.is(Kind::Tensor)) held.vmaps = levels_of(item.tensor);
      values.push_back(notes_.operand_of(item));
      return held;
    case Kind::Letter:
      if (item.source >= 0) {
        held.kind = Held::Kind::Source;
        held.number = item.source;
        return held;
      }
      held.kind = Held::Kind::Letter;
      held.serial = item.serial;
      held.number = static_cast<std::int64_t>(values.size());
      values.push_back(notes_.operand_of(item));
      return held;
    case Kind::Tuple:
      held.kind = Held::Kind::Tuple;
      break;
    case Kind::Range:
      held.kind = Held::Kind::Range;
      break;
    case Kind::Slice:
      held.kind = Held::Kind::Slice;
      break;
    case Kind::Iterator:
      held.kind = Held::Kind::Iterator;
      held.number = static_cast<std::int64_t>(item.form);
      break;
    case Kind::Struct:
      held.kind = Held::Kind::Struct;
      held.serial = item.serial;
      held.value = item.known;
      held.names = item.names;
      break;
    default:
      return std::nullopt;
  }
  for (const FlowItem& each : item.parts) {
    std::optional<Held> part = this->held(each, values);
    if (!part) return std::nullopt;
    held.parts.push_back(*std::move(part));
  }
  return held;
}

FlowReader::Resume FlowReader::resume_of(const FlowState& state) {
  const FlowFrame& outer = state.frames.front();
  const bool has_written = !state.registers_before.empty();
  return {outer.pc, has_written ? state.registers_before : outer.registers,
          state.in_call() ? state.variables_before : state.variables};
}

bool FlowReader::can_leave(const Resume& resume) {
  const Liveness& live = entry_frame_.code->liveness();
  std::vector<jit::Operand> values;
  for (std::uint32_t r = 0; r < resume.registers.size(); ++r) {
    const FlowItem& item = resume.registers[r];
    if (live.is_live(resume.pc, r) && !same_item(item, entry_[r]) && !held(item, values)) return false;
  }
  return true;
}

jit::ExitId FlowReader::exit_at(const Resume& resume, std::string reason) {
  const Code& code = *entry_frame_.code;
  const Liveness& live = code.liveness();
  LoopFlow::Exit exit;
  jit::FlowExit values;
  exit.place = resume.pc;
  const Opcode op = code.opcode_at(resume.pc);
  exit.leaves_loop = !loop_.contains(resume.pc) || op == Opcode::Return || op == Opcode::ReturnNone;
  for (std::uint32_t r = 0; r < resume.registers.size(); ++r) {
    if (!live.is_live(resume.pc, r)) {
      if (entry_[r].known.is_counted()) exit.dropped.push_back(r);
    } else if (!same_item(resume.registers[r], entry_[r])) {
      exit.registers.emplace_back(r, *held(resume.registers[r], values.values));
    }
  }
  for (std::size_t k = 0; k < resume.variables.size(); ++k) {
    const FlowItem& value = resume.variables[k];
    if (!same_item(value, entry_variables_[k]))
      exit.variables.emplace_back(knowledge_.assigned[k].source, *held(value, values.values));
  }
  values.place = notes_.place();
  values.reason = std::move(reason);
  values.ends_loop = exit.leaves_loop;
  flow_.exits.push_back(std::move(exit));
  notes_.graph().exits.push_back(std::move(values));
  return static_cast<jit::ExitId>(flow_.exits.size()) - 1;
}

// In front of what is done when a step of the present instruction fails.
jit::ExitId FlowReader::exit_now(const std::string& reason) {
  if (notes_.wrote() || (state_.in_call() && state_.wrote)) return jit::kCannotFail;
  if (!replay_) {
    const Resume now = resume_of(state_);
    if (!can_leave(now)) return jit::kCannotFail;
    replay_ = Replay{now.pc, now.registers, now.variables};
  }
  const std::string text = fmt::format("{} (line {})", reason, notes_.place().line);
  const auto [found, is_new] = replay_->exits.try_emplace(text, jit::kCannotFail);
  if (is_new) found->second = exit_at(replay_->resume(), text);
  return found->second;
}

jit::ExitId FlowReader::exit_of(const FlowState& state, const std::string& reason) {
  const Resume now = resume_of(state);
  if (state.in_call() && (state.wrote || !can_leave(now))) {
    knowledge_.calls_apart.emplace(now.pc, reason);
    throw ReadAgain{};
  }
  if (!can_leave(now)) {
    const bool may_replay = &state == &state_ && replay_ && !notes_.wrote();
    if (may_replay) return exit_at(replay_->resume(), reason);
    throw Unsupported{"it would be left where a value is half made: " + reason};
  }
  return exit_at(now, reason);
}

}  // namespace kiln::interp::capture
