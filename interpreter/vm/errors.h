// Owns how a failure becomes a diagnostic: its place, the operands it speaks of, where they came from.
#pragma once

#include <exception>
#include <optional>

#include "interpreter/vm/vm.h"
#include "tensor/error.h"

namespace kiln::interp {

// A value that a program threw, on its way; what is thrown as text or by the host has no payload.
class ThrownError : public lang::UserError {
 public:
  ThrownError(lang::Diagnostic diagnostic, Value payload)
      : lang::UserError(std::move(diagnostic)), payload_(std::move(payload)) {}
  const Value& payload() const { return payload_; }

 private:
  Value payload_;
};

// What is wrong with an argument of the call that is being made: the caret goes there.
class ArgumentError : public lang::UserError {
 public:
  // The argument of that name; or, without one, the first of the last `surplus` given by position.
  ArgumentError(lang::Diagnostic diagnostic, std::string name, std::size_t surplus = 0)
      : lang::UserError(std::move(diagnostic)), name_(std::move(name)), surplus_(surplus) {}
  const std::string& name() const { return name_; }
  std::size_t surplus() const { return surplus_; }

 private:
  std::string name_;
  std::size_t surplus_;
};

// What a C++ exception means to the program.
struct Failure {
  lang::Diagnostic diagnostic;
  Value payload;
  std::vector<int> operands;  // of the instruction; those the message speaks of
  bool names_operands = false;
  // Of a call that could not be bound, as in ArgumentError.
  std::string argument;
  std::size_t surplus = 0;
  bool catchable = true;
  bool is_exit = false;
};
Failure describe_exception(const std::exception_ptr& error);

// Gives a diagnostic without a place that of the active instruction, with a label for each operand.
void place_failure(Vm& vm, Failure& failure);

// Where a function of the library fails that is composed of others, lets the sentence name it and its own
// argument.
void name_called_function(Vm& vm, Failure& failure);

// Which operand of the call that `caller` is making was given for a parameter of the function called; nothing
// where none was, or where the call does not tell.
std::optional<std::size_t> operand_of_parameter(const Frame& caller, const Code& callee,
                                                std::size_t parameter);

// Places a diagnostic at the call that `frame` is making, or at an argument of it, whose value is given.
void label_call(const Frame& frame, lang::Diagnostic& diagnostic);
void label_argument(const Frame& frame, lang::Diagnostic& diagnostic, std::size_t operand,
                    const Value& value);

// The value of an operand of the instruction a frame stands at; null for literals in the instruction.
const Value* operand_value(const Frame& frame, std::size_t operand);

// Where a none came from, most likely; "" for other values.
std::string help_with_none(const Value& v);

// A way to make a failed operator work with what is in scope; "" when there is none.
std::string suggest_operand(Vm& vm, const Failure& failure);

// Throws as `throw` does: an error, a text, a kind of error, or an instance of the program's own.
[[noreturn]] void throw_value(Vm& vm, Value thrown);

}  // namespace kiln::interp
