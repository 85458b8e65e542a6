#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

std::int64_t jump_of(const Code& code, std::size_t pc) {
  const Instruction& i = code.instructions[pc];
  const std::string_view letters = operands(code.opcode_at(pc));
  if (letters.find('J') != std::string_view::npos) return i.wide();
  if (letters.find('j') != std::string_view::npos) return letters[1] == 'j' ? i.b_number() : i.c_number();
  return 0;
}

bool goes_on(Opcode op) {
  switch (op) {
    case Opcode::Jump:
    case Opcode::Loop:
    case Opcode::Return:
    case Opcode::ReturnNone:
    case Opcode::Throw:
    case Opcode::Rethrow:
    case Opcode::AssertFailed:
    case Opcode::AssertCompareFailed:
      return false;
    default:
      return true;
  }
}

// Goes backwards through the code until nothing changes.
Liveness::Liveness(const Code& code)
    : code_(code), registers_(code.registers), live_((code.instructions.size() + 1) * code.registers) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t pc = code.instructions.size(); pc-- > 0;) changed = flow(code, pc) || changed;
  }
}

bool Liveness::flow(const Code& code, std::size_t pc) {
  std::vector<bool> now(registers_);
  for (std::uint32_t r = 0; r < registers_; ++r) now[r] = is_live_after(pc, r);
  // The loop variable gets a value only where the loop goes on.
  if (code.opcode_at(pc) == Opcode::NextFor) {
    const auto body = static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump_of(code, pc));
    const std::uint32_t item = code.instructions[pc].b;
    now[item] = is_live(pc + 1, item);
    for (std::uint32_t r = 0; r < registers_; ++r) now[r] = now[r] || (r != item && is_live(body, r));
  } else {
    each_write(code, pc, [&](std::uint32_t r) { now[r] = false; });
  }
  for (const Handler& handler : code.handlers) {
    if (pc < handler.begin || pc >= handler.end) continue;
    for (std::uint32_t r = 0; r < handler.live; ++r) {
      if (r != handler.target_register && is_live(handler.target, r)) now[r] = true;
    }
  }
  each_read(code, pc, [&](std::uint32_t r) { now[r] = true; });
  bool changed = false;
  for (std::uint32_t r = 0; r < registers_; ++r) {
    if (now[r] && !is_live(pc, r)) {
      live_[pc * registers_ + r] = true;
      changed = true;
    }
  }
  return changed;
}

bool Liveness::is_live_after(std::size_t pc, std::uint32_t r) const {
  if (goes_on(code_.opcode_at(pc)) && is_live(pc + 1, r)) return true;
  const std::int64_t jump = jump_of(code_, pc);
  return jump != 0 && is_live(static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump), r);
}

}  // namespace kiln::interp::capture

namespace kiln::interp {

const capture::Liveness& Code::liveness() const {
  if (!known_liveness) known_liveness = std::make_shared<const capture::Liveness>(*this);
  return *known_liveness;
}

}  // namespace kiln::interp
