// Owns the registers that each instruction reads and writes, and the liveness of registers.
#pragma once

#include <string_view>
#include <vector>

#include "interpreter/values/code.h"

namespace kiln::interp::capture {

// Calls f(register) for every register whose value the instruction at `pc` may read.
template <class F>
void each_read(const Code& code, std::size_t pc, F&& f);
// Calls f(register) for every register that certainly holds a new value afterwards.
template <class F>
void each_write(const Code& code, std::size_t pc, F&& f);

// The distance of a jump in instructions; 0: the instruction is no jump.
std::int64_t jump_of(const Code& code, std::size_t pc);
// May the instruction behind it run next?
bool goes_on(Opcode op);

// The registers whose values may still be read when the frame goes on at an instruction.
class Liveness {
 public:
  explicit Liveness(const Code& code);
  bool is_live(std::size_t pc, std::uint32_t r) const { return live_[pc * registers_ + r]; }
  // After the instruction at `pc`, in its own frame.
  bool is_live_after(std::size_t pc, std::uint32_t r) const;

 private:
  bool flow(const Code& code, std::size_t pc);

  const Code& code_;
  std::size_t registers_;
  std::vector<bool> live_;
};

// ---- Implementation ----

// Calls f for `count` registers from `first` on, as far as they exist.
template <class F>
void each_of(const Code& code, std::uint32_t first, std::uint32_t count, F&& f) {
  for (std::uint32_t k = 0; k < count && first + k < code.registers; ++k) f(first + k);
}

// Calls f for the instruction's operands whose letter (interpreter/values/opcodes.def) is in `wanted`.
template <class F>
void each_operand(const Code& code, std::size_t pc, std::string_view wanted, F&& f) {
  const Instruction& i = code.instructions[pc];
  const std::string_view letters = operands(code.opcode_at(pc));
  const std::uint16_t numbers[] = {i.a, i.b, i.c};
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (wanted.find(letters[k]) != std::string_view::npos) f(std::uint32_t{numbers[k]});
  }
}

template <class F>
void each_read(const Code& code, std::size_t pc, F&& f) {
  const Instruction& i = code.instructions[pc];
  const auto range = [&](std::uint32_t first, std::uint32_t count) { each_of(code, first, count, f); };
  switch (code.opcode_at(pc)) {
    case Opcode::Call:
    case Opcode::CallSpread:
      return range(i.a, i.b + 1U);
    case Opcode::CallMethod:
    case Opcode::CallMethodSpread: {
      range(i.a + 1U, i.b);
      const std::uint32_t site = code.opcode_at(pc) == Opcode::CallMethod ? i.c : code.shapes[i.c].site;
      if (const std::int32_t local = code.sites[site].local; local >= 0) f(static_cast<std::uint32_t>(local));
      return;
    }
    case Opcode::NextFor:
      return range(i.a, 3);
    case Opcode::BuildList:
    case Opcode::BuildTuple:
    case Opcode::JoinText:
      return range(i.b, i.c);
    case Opcode::BuildDict:
      return range(i.b, 2U * i.c);
    case Opcode::BuildSlice:
      return range(i.b, 3);
    case Opcode::FormatValue:
      return range(i.b, 2);
    case Opcode::MakeGenerator:
      return range(0, code.registers);
    case Opcode::MakeFunction: {
      const Code& made = *code.functions[i.c];
      for (const lang::CaptureSource& source : made.function->captures) {
        if (source.from_parent_cell) f(static_cast<std::uint32_t>(source.slot));
      }
      [[fallthrough]];
    }
    case Opcode::MakeStruct:
    case Opcode::MakeAutograd:
      return range(i.b, code.registers - i.b);
    case Opcode::CheckArguments:
      return range(0, static_cast<std::uint32_t>(code.parameters.size()));
    default:
      break;
  }
  each_operand(code, pc, "rkm", f);
}

template <class F>
void each_write(const Code& code, std::size_t pc, F&& f) {
  const Instruction& i = code.instructions[pc];
  const auto range = [&](std::uint32_t first, std::uint32_t count) { each_of(code, first, count, f); };
  switch (code.opcode_at(pc)) {
    case Opcode::Call:
    case Opcode::CallSpread:
    case Opcode::CallMethod:
    case Opcode::CallMethodSpread:
      return range(i.a, code.registers - i.a);  // nothing lives behind the arguments of a call
    case Opcode::BeginFor:
      return range(i.a, 3);
    case Opcode::NextFor:
      range(i.a, 3);
      return f(std::uint32_t{i.b});
    case Opcode::Unpack:
      return range(i.a, i.c);
    case Opcode::UnpackStar:
      return range(i.a, i.c / 256U + i.c % 256U + 1U);
    case Opcode::UnsetLocals:
      return range(i.a, i.b);
    case Opcode::MatchParts:
      return range(i.a, static_cast<std::uint32_t>(code.patterns[i.c].pattern->parts.size()) + 1U);
    case Opcode::CheckArguments:  // sizes that the signature names
      for (const lang::NamedSize& each : code.function->named_sizes)
        f(static_cast<std::uint32_t>(each.binding.slot));
      return;
    default:
      break;
  }
  each_operand(code, pc, "wm", f);
}

}  // namespace kiln::interp::capture
