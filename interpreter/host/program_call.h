// Owns what a graph is told of the call of an autograd function: host values, the qualified name, hooks.
#pragma once

#include <memory>
#include <string>

#include "interpreter/capture/application.h"

namespace kiln::interp::host {

// The name under which the program keeps the value for files; empty where it has none.
std::string registered_name(Interpreter& interpreter, const Value& value);

// A function's module, as an import of the main program names it, and its name: "layers.Clip". Of functions
// of the main program the name alone.
std::string qualified_name(Interpreter& interpreter, const Value& autograd);

// `application` has its arguments and outputs.
std::shared_ptr<const jit::ProgramCall> program_call(Interpreter& interpreter, const Value& autograd,
                                                     const capture::Application& application);

// The types of the results that the function's `infer_shape` tells. Throws OpError (Value) where it has none,
// and what the hook raises.
std::vector<jit::HookType> inferred_shapes(Interpreter& interpreter, const Value& autograd,
                                           const jit::HookNode& node,
                                           const std::vector<jit::HookType>& given);

}  // namespace kiln::interp::host
