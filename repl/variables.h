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
  std::string device;  // of a tensor; empty for others
  std::optional<std::int64_t>
      bytes;            // of a tensor's elements; of other values, of the memory that `held` lies in
  std::string aliases;  // "is y", "shares x; strided"
};

// The tensors that a value is or holds: in lists, tuples and dicts, in the fields of structs such as
// models and optimizers, and their gradients. Each tensor once.
std::vector<Tensor> held_tensors(const interp::Value& value);

// Of the memory that tensors lie in, which several may share, in bytes.
std::int64_t memory_of(const std::vector<Tensor>& tensors);

// The variables of the main module by name, without `_` and `_18`.
std::vector<Variable> variables(interp::Interpreter& interpreter);

}  // namespace kiln::repl
