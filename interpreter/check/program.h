// Owns finding the mistakes of a program without running it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interpreter/check/seen.h"
#include "interpreter/interpreter.h"
#include "lang/diagnostic.h"

namespace kiln::interp::check {

struct Checked {
  // Of the file and of modules that it imports, by their places. Where syntax is wrong, of syntax alone.
  std::vector<lang::Diagnostic> mistakes;
  std::unique_ptr<Interpreter> owner;  // of the texts that they point into
};

// All mistakes of a program that are certain: those that a run must come to, and those in functions that are
// never called, as far as their signatures tell. Nothing is computed, written or printed; user modules are
// read. `name` is shown in diagnostics; `path`, which may be empty, says what imports are relative to. Never
// throws for what the text holds.
Checked check_program(const std::string& name, const std::string& text, const std::string& path);

// The same within an interpreter that has run nothing yet and compiles nothing by itself (`hot_after` below
// 0), for editors: its main module holds afterwards what the variables of the program came to, tensors
// without elements; a variable whose value is unknown has none. `seen` is told of values on the way.
// With `supposes`, functions whose signatures name sizes are called once more, of which nothing is found.
std::vector<lang::Diagnostic> check_within(Interpreter& interpreter, const std::string& name,
                                           const std::string& text, const std::string& path,
                                           const Seen& seen = {}, const Supposes& supposes = {});

}  // namespace kiln::interp::check
