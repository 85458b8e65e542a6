// Text of the program: a flow is given its code points as a tensor of ints, and a letter is the number of
// one.
#include <fmt/format.h>

#include "interpreter/capture/flow/list_numbers.h"
#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;
using lang::CompareOp;

bool FlowReader::is_text(const FlowItem& item) { return item.is(Kind::Known) && item.known.is(Tag::Str); }

// What a register holds when the flow begins. One that the loop assigns may hold another letter in another
// run.
FlowItem FlowReader::begun(std::uint32_t r, const Value& value, SourceId source) {
  const Code& code = *entry_frame_.code;
  bool is_assigned = false;
  for (std::size_t pc = loop_.top; pc < loop_.end; ++pc) {
    each_write(code, pc, [&](std::uint32_t written) { is_assigned = is_assigned || written == r; });
    const bool is_step = code.opcode_at(pc) == Opcode::NextFor && code.instructions[pc].b == r;
    is_assigned = is_assigned || is_step;
  }
  return is_assigned && is_letter(value) ? inputs_.letter(value, source) : FlowItem::at(value, source);
}

FlowReader::NumberList FlowReader::code_points(const FlowItem& text) {
  const Tensor points = inputs_.code_points(text.known, inputs_.owner(text.known, text.source)).tensor;
  return {points, FlowItem::number(DType::I64, jit::Operand::of_number(points.size(0)))};
}

FlowItem FlowReader::letter_at(const FlowItem& text, const FlowItem& index) {
  FlowItem letter = FlowItem::letter(notes_.item(element_of(code_points(text), index)));
  letter.serial = ++serials_;
  return letter;
}

// The code point of a letter, or of text of one that is the same in all runs of the flow. Nothing for text of
// several or none, which is no letter.
std::optional<FlowItem> FlowReader::code_point(const FlowItem& item) {
  if (item.is(Kind::Letter)) return FlowItem::number(DType::I64, item.operand);
  if (!is_text(item)) throw Unsupported{text_of(item) + " is no letter"};
  inputs_.expect_same(item);
  const auto points = code_points_of(item.known);
  if (!points || points->size() != 1) return std::nullopt;
  return FlowItem::constant(points->front());
}

FlowItem FlowReader::letters_compared(CompareOp op, const FlowItem& a, const FlowItem& b) {
  const auto x = code_point(a), y = code_point(b);
  if (x && y) return numbers_compared(op, *x, *y);
  if (op != CompareOp::Eq && op != CompareOp::Ne) throw Unsupported{"a letter is compared with longer text"};
  return FlowItem::constant(op == CompareOp::Ne);
}

// The letters of text that is the same in all runs of the flow.
std::vector<FlowItem> FlowReader::letters_of(const FlowItem& text) {
  inputs_.expect_same(text);
  const auto points = code_points_of(text.known);
  if (!points) throw Unsupported{"text is no valid UTF-8"};
  std::vector<FlowItem> letters;
  for (const std::int64_t each : *points) letters.push_back(FlowItem::letter(FlowItem::constant(each)));
  return letters;
}

}  // namespace kiln::interp::capture
