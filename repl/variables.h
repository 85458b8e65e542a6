// Owns what is known of the session's variables: types, memory, what they alias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"

namespace kiln::repl {

struct Variable {
  std::string name;
  interp::Value value;
  std::string device;                 // of a tensor; empty for others
  std::optional<std::int64_t> bytes;  // of a tensor's elements, each once
  std::string aliases;                // "is y", "shares x; strided"
};

// The variables of the main module by name, without `_`.
std::vector<Variable> variables(interp::Interpreter& interpreter);

}  // namespace kiln::repl
