#include "interpreter/errors.h"

#include <new>

#include "interpreter/interpreter.h"

namespace kiln::interp {

void raise(std::string_view kind, std::string message, std::string help) {
  lang::Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  throw lang::UserError(std::move(diagnostic));
}

namespace {

Failure plain(std::string kind, std::string message, std::string help = {}) {
  Failure failure;
  failure.diagnostic.kind = std::move(kind);
  failure.diagnostic.message = std::move(message);
  failure.diagnostic.help = std::move(help);
  failure.catchable = failure.diagnostic.kind != "Interrupted";
  return failure;
}

Failure internal(const std::string& what) {
  return plain("InternalError", "Kiln made a mistake here, the program did not: " + what,
               "please report it with the lines that led to it");
}

bool is_call(Opcode op) {
  return op == Opcode::Call || op == Opcode::CallMethod || op == Opcode::CallSpread ||
         op == Opcode::CallMethodSpread;
}

}  // namespace

Failure describe_exception(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ThrownError& e) {
    Failure failure;
    failure.diagnostic = e.diagnostic();
    failure.payload = e.payload();
    return failure;
  } catch (const lang::UserError& e) {
    Failure failure;
    failure.diagnostic = e.diagnostic();
    failure.catchable = failure.diagnostic.kind != "Interrupted";
    return failure;
  } catch (const OpError& e) {
    if (e.kind() == ErrorKind::Interrupted) interrupt_requested.store(false);
    Failure failure = plain(std::string(name(e.kind())), e.message(), e.help());
    failure.operands = e.operands();
    failure.names_operands = true;
    return failure;
  } catch (const Exit&) {
    Failure failure;
    failure.is_exit = true;
    failure.catchable = false;
    return failure;
  } catch (const std::bad_alloc&) {
    return plain("OutOfMemory", "there is not enough memory for this");
  } catch (const std::length_error&) {
    return plain("OutOfMemory", "this would be larger than memory");
  } catch (const InternalError& e) {
    return internal(e.what());
  } catch (const std::exception&) {
    return internal("an unexpected failure of the host");
  }
}

const Value* operand_value(const Frame& frame, std::size_t operand) {
  const Instruction& i = *frame.pc;
  if (is_call(i.opcode())) return &frame.base[i.a + 1 + operand];
  const std::string_view letters = operands(i.opcode());
  const std::uint16_t registers[] = {i.a, i.b, i.c};
  std::size_t seen = 0;
  for (std::size_t k = 0; k < letters.size() && k < 3; ++k) {
    if (letters[k] != 'r' && letters[k] != 'k' && letters[k] != 'm') continue;
    if (seen++ == operand) return &frame.base[registers[k]];
  }
  return nullptr;
}

namespace {

std::string place_text(const lang::Span& span) {
  return span.file->name() + ":" + std::to_string(span.file->locate(span.begin).line);
}

std::string origin_text(const Frame& frame, const OperandNote& note) {
  switch (note.origin) {
    case OperandNote::Origin::Parameter:
      return frame.code->name.empty() ? ", a parameter" : ", parameter of " + frame.code->name;
    case OperandNote::Origin::Assigned:
      return ", from " + place_text(note.assigned);
    case OperandNote::Origin::Global: {
      const lang::Span origin = frame.module().origins[frame.module().slot(note.name)];
      return origin ? ", from " + place_text(origin) : "";
    }
    case OperandNote::Origin::None:
      break;
  }
  return "";
}

void label_operand(const Frame& frame, std::size_t operand, lang::Diagnostic& diagnostic) {
  const InstructionNote& note = frame.code->notes[frame.place()];
  if (operand >= note.operands) return;
  const OperandNote& about = frame.code->operands[note.first_operand + operand];
  const Value* value = operand_value(frame, operand);
  std::string text = value && !value->is_unset() ? describe(*value) : "";
  if (!about.name.empty())
    text = std::string(about.name) + (text.empty() ? "" : ": " + text) + origin_text(frame, about);
  if (text.empty()) return;
  diagnostic.labels.push_back({{frame.code->file, about.begin, about.end}, std::move(text)});
}

// Literals explain themselves, and a receiver or callee is seen at the call.
bool worth_a_label(const Frame& frame, std::size_t operand) {
  const InstructionNote& note = frame.code->notes[frame.place()];
  if (operand >= note.operands) return false;
  const Value* value = operand_value(frame, operand);
  const OperandNote& about = frame.code->operands[note.first_operand + operand];
  return value && (!about.name.empty() || value->is(Tag::Tensor));
}

}  // namespace

void label_call(const Frame& frame, lang::Diagnostic& diagnostic, std::size_t argument) {
  diagnostic.labels.push_back({frame.code->span(frame.place()), ""});
  if (worth_a_label(frame, argument)) label_operand(frame, argument, diagnostic);
}

void place_failure(Vm& vm, Failure& failure) {
  lang::Diagnostic& diagnostic = failure.diagnostic;
  if (!diagnostic.labels.empty() || failure.is_exit || vm.frame() < vm.frames_begin()) return;
  const Frame& frame = *vm.frame();
  const std::size_t pc = frame.place();
  diagnostic.labels.push_back({frame.code->span(pc), ""});
  if (failure.names_operands) {
    for (const int operand : failure.operands)
      label_operand(frame, static_cast<std::size_t>(operand), diagnostic);
    if (diagnostic.help.empty()) diagnostic.help = suggest_operand(vm, failure);
  } else if (!is_call(frame.pc->opcode())) {
    for (std::size_t k = 0; k < frame.code->notes[pc].operands; ++k) {
      if (worth_a_label(frame, k)) label_operand(frame, k, diagnostic);
    }
  }
}

}  // namespace kiln::interp
