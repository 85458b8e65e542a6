// What a check tells of values: operands before an instruction, its result behind it, arguments of calls.
#include "interpreter/check/machine.h"
#include "interpreter/check/operands.h"
#include "interpreter/values/unknown.h"

namespace kiln::interp::check {

void Machine::tell(lang::Span place, const Value& value) const {
  const Value& held = value.is(Tag::Cell) ? value.as<Cell>().value : value;
  if (!held.is_unset() && !is_unknown(held) && place && !place.file->is_library()) seen_(place, held);
}

void Machine::tell_arguments(const Frame& frame) const {
  if (!seen_ || frame.code->function == nullptr) return;
  const std::span<const lang::Parameter> parameters = frame.code->function->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) tell(parameters[i].span, frame.base[i]);
}

void Machine::tell_operands(const Frame& frame) const {
  if (!seen_) return;
  const InstructionNote& note = frame.code->notes[frame.place()];
  for (std::size_t k = 0; k < note.operands; ++k) {
    const OperandNote& about = frame.code->operands[note.first_operand + k];
    const Value* const value = operand_value(frame, k);
    if (value != nullptr) tell({frame.code->file, about.begin, about.end}, *value);
  }
}

// Of the instruction at `place`, which is done.
void Machine::tell_result(const Frame& frame, std::size_t place) const {
  const Opcode op = frame.code->opcode_at(place);
  const bool has_result = is_call(op) || operands(op).starts_with('w');
  if (seen_ && has_result) tell(frame.code->span(place), frame.base[frame.code->instructions[place].a]);
}

// After a step from `place` of `frame`: of that instruction, or of the call that it returned from.
void Machine::tell_results(const Frame* frame, std::size_t place) const {
  const Frame* const now = vm_.frame();
  if (now == frame) return tell_result(*frame, place);
  if (now < frame && now >= vm_.frames_begin() && now->place() > 0 &&
      is_call(now->code->opcode_at(now->place() - 1)))
    tell_result(*now, now->place() - 1);
}

}  // namespace kiln::interp::check
