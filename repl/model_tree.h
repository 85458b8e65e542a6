// Owns how a model is printed at the prompt: its parts as a tree, with shapes, parameters and bytes.
#pragma once

#include <optional>
#include <string>

#include "interpreter/interpreter.h"

namespace kiln::repl {

// A row for each struct within the model, by the dotted names of `state_dict`, ending in a newline; counts
// are of a part with all within it, a tensor once, and bytes as `:who` counts them. Nothing for values that
// are no models: structs that can be called, have parameters in them and no `repr` of their own.
std::optional<std::string> model_tree(interp::Interpreter& interpreter, const interp::Value& value);

}  // namespace kiln::repl
