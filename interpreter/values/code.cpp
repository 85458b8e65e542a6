#include "interpreter/values/code.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "interpreter/values/complex_number.h"

namespace kiln::interp {
namespace {

struct OpcodeInfo {
  std::string_view name;
  std::string_view operands;
};
constexpr std::array kInfo = {
#define KILN_FAST(name, operands) OpcodeInfo{#name, operands},
#define KILN_CALL(name, operands) OpcodeInfo{#name, operands},
#include "interpreter/values/opcodes.def"
};
static_assert(kInfo.size() == kOpcodes);

std::string constant_text(const Value& value) {
  switch (value.tag()) {
    case Tag::Str:
      return fmt::format("\"{}\"", value.as<Str>().text);
    case Tag::Int:
      return std::to_string(value.as_int());
    case Tag::Float:
      return fmt::format("{}", value.as_float());
    case Tag::Complex:
      return fmt::format("{}+{}j", complex_of(value).real, complex_of(value).imaginary);
    default:
      return std::string(type_name(value));
  }
}

std::string operand_text(const Code& code, std::size_t pc, char kind, std::uint16_t value) {
  switch (kind) {
    case 'w':
    case 'r':
    case 'k':
    case 'm':
      return fmt::format("r{}", value);
    case 'i':
      return std::to_string(static_cast<std::int16_t>(value));
    case 'j':
      return fmt::format("->{}", static_cast<std::int64_t>(pc) + static_cast<std::int16_t>(value));
    case 's':
      return fmt::format(".{}", code.sites[value].name);
    case 'g':
      return fmt::format("global:{}", value);
    case 'p':
      return fmt::format("prelude:{}", value);
    default:
      return fmt::format("{}", value);
  }
}

std::string wide_text(const Code& code, std::size_t pc, char kind, std::int32_t value) {
  switch (kind) {
    case 'J':
      return fmt::format("->{}", static_cast<std::int64_t>(pc) + value);
    case 'K':
      return constant_text(code.constants[static_cast<std::size_t>(value)]);
    default:
      return std::to_string(value);
  }
}

std::string operands_text(const Code& code, std::size_t pc) {
  const Instruction& i = code.instructions[pc];
  const std::string_view kinds = operands(code.opcode_at(pc));
  std::string text;
  const auto add = [&text](const std::string& operand) { text += (text.empty() ? "" : " ") + operand; };
  if (kinds[0] != '-') add(operand_text(code, pc, kinds[0], i.a));
  if (kinds[1] >= 'A' && kinds[1] <= 'Z') {
    add(wide_text(code, pc, kinds[1], i.wide()));
    return text;
  }
  if (kinds[1] != '-') add(operand_text(code, pc, kinds[1], i.b));
  if (kinds[2] != '-') add(operand_text(code, pc, kinds[2], i.c));
  return text;
}

// The source an instruction stands for: an operator with its operands.
lang::Span whole(const Code& code, std::size_t pc) {
  lang::Span span = code.span(pc);
  const InstructionNote& note = code.notes[pc];
  for (std::uint32_t i = note.first_operand; i < note.first_operand + note.operands; ++i) {
    span.begin = std::min(span.begin, code.operands[i].begin);
    span.end = std::max(span.end, code.operands[i].end);
  }
  return span;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

void disassemble_into(const Code& code, bool nested, std::string& out) {
  const std::string_view title = code.name.empty() ? "top level" : std::string_view(code.name);
  out += fmt::format("{}: {} registers, {} of them variables\n", title, code.registers, code.locals);
  for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
    out += fmt::format("{:4}  {:<20} {:<22} # {}\n", pc, name(code.opcode_at(pc)), operands_text(code, pc),
                       first_line(whole(code, pc).text()));
  }
  for (const Handler& h : code.handlers) {
    out += fmt::format("      errors in {}..{} go to {} {}\n", h.begin, h.end, h.target,
                       h.cleanup ? "to clean up" : "to be caught");
  }
  if (!nested) return;
  for (const auto& function : code.functions) {
    out += "\n";
    disassemble_into(*function, true, out);
  }
}

}  // namespace

std::string_view name(Opcode op) { return kInfo[static_cast<std::size_t>(op)].name; }
std::string_view operands(Opcode op) { return kInfo[static_cast<std::size_t>(op)].operands; }

void Code::set_opcode(std::size_t pc, Opcode op) const {
  if (is_marked(pc)) {
    marked[pc] = op;
  } else {
    instructions[pc].op = static_cast<std::uint16_t>(op);
  }
}

void Code::mark(std::size_t pc) const {
  if (is_marked(pc)) return;
  if (marked.empty()) marked.resize(instructions.size());
  marked[pc] = instructions[pc].opcode();
  instructions[pc].op = static_cast<std::uint16_t>(Opcode::Capture);
}

void Code::unmark(std::size_t pc) const {
  if (is_marked(pc)) instructions[pc].op = static_cast<std::uint16_t>(marked[pc]);
}

std::string disassemble(const Code& code, bool nested) {
  std::string out;
  disassemble_into(code, nested, out);
  return out;
}

}  // namespace kiln::interp
