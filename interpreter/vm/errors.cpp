#include "interpreter/vm/errors.h"

#include "interpreter/vm/kept_place.h"

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

// Ctrl-C ends the program, also where it passes a `with` or a host function on its way.
bool may_be_caught(const lang::Diagnostic& diagnostic) { return diagnostic.kind != "Interrupted"; }

Failure plain(std::string kind, std::string message, std::string help = {}) {
  Failure failure;
  failure.diagnostic.kind = std::move(kind);
  failure.diagnostic.message = std::move(message);
  failure.diagnostic.help = std::move(help);
  failure.catchable = may_be_caught(failure.diagnostic);
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
    failure.catchable = may_be_caught(failure.diagnostic);
    return failure;
  } catch (const ArgumentError& e) {
    Failure failure;
    failure.diagnostic = e.diagnostic();
    failure.argument = e.name();
    failure.surplus = e.surplus();
    return failure;
  } catch (const lang::UserError& e) {
    Failure failure;
    failure.diagnostic = e.diagnostic();
    failure.catchable = may_be_caught(failure.diagnostic);
    return failure;
  } catch (const DelayedError& e) {
    return delayed_failure(e);
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
  if (is_call(frame.code->opcode_at(frame.place()))) return &frame.base[i.a + 1 + operand];
  const std::string_view letters = operands(frame.code->opcode_at(frame.place()));
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
    case OperandNote::Origin::Parameter: {
      const std::string_view owner = note.owner.empty() ? std::string_view(frame.code->name) : note.owner;
      return owner.empty() ? ", a parameter" : ", parameter of " + std::string(owner);
    }
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

// Literals explain themselves, and of plain numbers and text the message tells more.
bool worth_a_label(const Frame& frame, std::size_t operand) {
  const InstructionNote& note = frame.code->notes[frame.place()];
  if (operand >= note.operands) return false;
  const Value* value = operand_value(frame, operand);
  const OperandNote& about = frame.code->operands[note.first_operand + operand];
  if (!value || about.is_literal) return false;
  return !about.name.empty() || !(value->is_number() || value->is(Tag::Str));
}

bool is_method_call(Opcode op) { return op == Opcode::CallMethod || op == Opcode::CallMethodSpread; }

// How the arguments of a call are written; null when all are plain.
const CallShape* shape_of(const Frame& frame) {
  const Instruction& i = *frame.pc;
  const bool has_shape = frame.code->opcode_at(frame.place()) == Opcode::CallSpread ||
                         frame.code->opcode_at(frame.place()) == Opcode::CallMethodSpread;
  return has_shape ? &frame.code->shapes[i.c] : nullptr;
}

// The operands of a call that stand for one argument by position each; none when stars hide which is which.
std::vector<std::size_t> positional_operands(const Frame& frame) {
  const std::size_t receivers = is_method_call(frame.code->opcode_at(frame.place())) ? 1 : 0;
  const CallShape* shape = shape_of(frame);
  std::vector<std::size_t> operands;
  for (std::size_t k = 0; k < frame.code->notes[frame.place()].operands; ++k) {
    if (shape && k >= receivers) {
      const auto kind = shape->items[k - receivers].kind;
      if (kind == lang::Argument::Kind::Star) return {};
      if (kind != lang::Argument::Kind::Positional) continue;
    }
    operands.push_back(k);
  }
  return operands;
}

// The place of the argument a call could not bind; empty when it cannot be told.
lang::Span argument_span(const Frame& frame, const Failure& failure) {
  if (!is_call(frame.code->opcode_at(frame.place()))) return {};
  if (failure.argument.empty()) {
    const std::vector<std::size_t> operands = positional_operands(frame);
    if (failure.surplus == 0 || failure.surplus > operands.size()) return {};
    const std::size_t operand = operands[operands.size() - failure.surplus];
    const OperandNote& about = frame.code->operands[frame.code->notes[frame.place()].first_operand + operand];
    return {frame.code->file, about.begin, about.end};
  }
  const CallShape* shape = shape_of(frame);
  if (!shape) return {};
  for (const CallShape::Item& item : shape->items) {
    if (item.kind == lang::Argument::Kind::Named && item.name == failure.argument) return item.name_span;
  }
  return {};
}

// Is what stands before the dot of a method call none of its arguments, as a module is? Nothing where it may
// be either.
std::optional<bool> is_namespace(const Frame& caller, const Code& callee) {
  const OperandNote& before = caller.code->operands[caller.code->notes[caller.place()].first_operand];
  if (before.origin == OperandNote::Origin::Global) {
    const Value& held = caller.module().slots[caller.module().slot(before.name)];
    return held.is(Tag::Module) || held.is(Tag::StructType);
  }
  const bool is_method = callee.name.find('.') != std::string::npos;
  if (is_method || callee.file->is_library()) return false;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> operand_of_parameter(const Frame& caller, const Code& callee,
                                                std::size_t parameter) {
  const Opcode op = caller.code->opcode_at(caller.place());
  const bool is_one = callee.parameters[parameter].kind == lang::Parameter::Kind::Normal;
  if (!is_call(op) || !is_one) return std::nullopt;
  const std::size_t receivers = is_method_call(op) ? 1 : 0;
  if (const CallShape* shape = shape_of(caller)) {
    for (std::size_t k = 0; k < shape->items.size(); ++k) {
      const CallShape::Item& item = shape->items[k];
      if (item.kind == lang::Argument::Kind::Named && item.name == callee.parameters[parameter].name)
        return k + receivers;
    }
  }
  // The registers tell nothing: a call has moved its arguments to where the function reads them.
  std::size_t unwritten = 0;  // parameters in front whose arguments do not stand in the call
  std::size_t skipped = 0;    // operands in front that are no arguments
  const bool makes = callee.name.ends_with(".init");
  if (makes) {
    unwritten = 1;
    skipped = receivers;
  } else if (receivers == 1) {
    const std::optional<bool> is_before = is_namespace(caller, callee);
    if (!is_before) return std::nullopt;
    skipped = *is_before ? 1 : 0;
  } else if (callee.name.find('.') != std::string::npos) {
    if (!callee.name.ends_with(".call")) return std::nullopt;
    unwritten = 1;
  }
  const std::vector<std::size_t> operands = positional_operands(caller);
  if (parameter < unwritten || parameter - unwritten + skipped >= operands.size()) return std::nullopt;
  return operands[parameter - unwritten + skipped];
}

void label_call(const Frame& frame, lang::Diagnostic& diagnostic) {
  diagnostic.labels.push_back({frame.code->span(frame.place()), ""});
}

void label_argument(const Frame& frame, lang::Diagnostic& diagnostic, std::size_t operand,
                    const Value& value) {
  const OperandNote& about = frame.code->operands[frame.code->notes[frame.place()].first_operand + operand];
  std::string text;
  if (!about.name.empty())
    text = std::string(about.name) + ": " + describe(value) + origin_text(frame, about);
  diagnostic.labels.push_back({{frame.code->file, about.begin, about.end}, std::move(text)});
}

void place_failure(Vm& vm, Failure& failure) {
  lang::Diagnostic& diagnostic = failure.diagnostic;
  if (!diagnostic.labels.empty() || failure.is_exit || vm.frame() < vm.frames_begin()) return;
  const Frame& frame = *vm.frame();
  const std::size_t pc = frame.place();
  const Opcode op = frame.code->opcode_at(pc);
  const bool in_call = is_call(op);
  if (op != Opcode::Throw) name_called_function(vm, failure);
  if (const lang::Span argument = argument_span(frame, failure)) {
    diagnostic.labels.push_back({argument, ""});
    return;
  }
  // Of a call the carets stand under the arguments it is about, else under the whole.
  if (!in_call || failure.operands.empty()) diagnostic.labels.push_back({frame.code->span(pc), ""});
  if (failure.names_operands) {
    // What is written has no note at an assignment, whose other operands are those of the index.
    const bool is_write = frame.code->opcode_at(pc) == Opcode::SetIndex;
    for (const int operand : failure.operands)
      if (operand == 0 || !is_write) label_operand(frame, static_cast<std::size_t>(operand), diagnostic);
    if (diagnostic.labels.empty()) diagnostic.labels.push_back({frame.code->span(pc), ""});
    if (std::string better = suggest_operand(vm, failure); !better.empty())
      diagnostic.help = std::move(better);
  } else if (!in_call) {
    for (std::size_t k = 0; k < frame.code->notes[pc].operands; ++k) {
      if (worth_a_label(frame, k)) label_operand(frame, k, diagnostic);
    }
  }
}

}  // namespace kiln::interp
