// Owns the choice of how compiled functions run, as functions of the language.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

struct BackendChoice {
  std::string_view name;
  std::string_view meaning;
  bool is_chosen;
};
// All backends, and last the interpreter, which compiles nothing.
std::vector<BackendChoice> backend_choices(Interpreter& interpreter);
// Throws UserError (ValueError) for a name that no backend has.
void choose_backend(Interpreter& interpreter, std::string_view name);

Value backends(Interpreter& interpreter, std::span<Value> arguments);
Value set_backend(Interpreter& interpreter, std::span<Value> arguments);

}  // namespace kiln::interp::host
