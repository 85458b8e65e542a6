// Errors in functions that the library composes of others: they name the function that the program has
// called.
#include <algorithm>
#include <optional>
#include <string_view>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "tensor/op.h"

namespace kiln::interp {
namespace {

// How long the name of the op is that a sentence begins with, as `argsort` in "argsort: it takes real
// numbers"; 0 without one, as in what a transform says.
std::size_t length_of_name(std::string_view sentence) {
  const std::size_t length = std::min(sentence.find(": "), sentence.size());
  if (length == sentence.size()) return 0;
  const auto& ops = OpTable::get().ops();
  const bool is_op = std::any_of(ops.begin(), ops.end(), [name = sentence.substr(0, length)](const Op* op) {
    return spoken_name(*op) == name;
  });
  return is_op ? length : 0;
}

// The argument that the rest of a sentence speaks of, as `dim` in "`dim` must be an int"; "" without one.
std::string_view argument_of(std::string_view rest) {
  if (!rest.starts_with('`')) return {};
  const std::size_t end = rest.find('`', 1);
  return end == std::string_view::npos ? std::string_view() : rest.substr(1, end - 1);
}

// A function of the library that programs call by its name: no method, no function within another, nothing of
// its own.
bool is_called_by_name(const Code& code) {
  return !code.name.empty() && code.name != "fn" && code.name.front() != '_' &&
         code.name.find('.') == std::string::npos;
}

// A function that the library writes for a use of its own.
bool is_private(const Value& value) {
  if (!value.is(Tag::Function)) return false;
  const Code& code = *value.as<Function>().code;
  return code.file->is_library() && !is_called_by_name(code);
}

// A function that the program has given another one does not speak for what that does.
bool was_given_function(const Frame& frame) {
  for (std::size_t i = 0; i < frame.code->parameters.size(); ++i) {
    const Value& given = frame.base[i].is(Tag::Cell) ? frame.base[i].as<Cell>().value : frame.base[i];
    if (host::is_callable(given) && !is_private(given)) return true;
  }
  return false;
}

// The parameter of the frame's function that stands, as it was given, as an operand of its instruction.
std::optional<std::size_t> passed_on(const Frame& frame, std::size_t operand) {
  const InstructionNote& note = frame.code->notes[frame.place()];
  if (operand >= note.operands) return std::nullopt;
  const OperandNote& about = frame.code->operands[note.first_operand + operand];
  if (about.origin != OperandNote::Origin::Parameter || !about.owner.empty()) return std::nullopt;
  for (std::size_t i = 0; i < frame.code->parameters.size(); ++i) {
    if (frame.code->parameters[i].name == about.name) return i;
  }
  return std::nullopt;
}

// The parameter of `outer` whose argument came down to `operand` of the instruction that `inner` stands at.
std::optional<std::size_t> parameter_behind(const Frame* inner, const Frame* outer, std::size_t operand) {
  std::optional<std::size_t> parameter = passed_on(*inner, operand);
  for (const Frame* frame = inner; parameter && frame != outer; --frame) {
    const auto given = operand_of_parameter(*(frame - 1), *frame->code, *parameter);
    parameter = given ? passed_on(*(frame - 1), *given) : std::nullopt;
  }
  return parameter;
}

// The outermost function of the library that answers for the instruction under way; null where none does.
const Frame* answering_frame(Vm& vm) {
  const Frame* found = nullptr;
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    if (!frame->code->file->is_library() || was_given_function(*frame)) break;
    if (is_called_by_name(*frame->code)) found = frame;
  }
  return found;
}

}  // namespace

void name_called_function(Vm& vm, Failure& failure) {
  std::string& sentence = failure.diagnostic.message;
  const std::size_t length = length_of_name(sentence);
  if (length == 0) return;
  const Frame* const outer = answering_frame(vm);
  if (outer == nullptr) return;
  std::string rest = sentence.substr(length);
  if (const std::string_view argument = argument_of(std::string_view(rest).substr(2)); !argument.empty()) {
    // The arguments of the inner function have names that the outer one may not know.
    if (failure.operands.empty()) return;
    const auto parameter =
        parameter_behind(vm.frame(), outer, static_cast<std::size_t>(failure.operands.front()));
    if (!parameter) return;
    rest.replace(3, argument.size(), outer->code->parameters[*parameter].name);
  }
  sentence = outer->code->name + rest;
}

}  // namespace kiln::interp
