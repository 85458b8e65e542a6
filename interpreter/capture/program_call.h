// Owns what a graph is told of the call of an autograd function: host values, the qualified name, hooks.
#pragma once

#include <memory>

#include "interpreter/capture/application.h"
#include "jit/graph/program_call.h"

namespace kiln::interp::capture {

// The name under which the program keeps the value for files; empty where it has none.
std::string registered_name(Interpreter& interpreter, const Value& value);

// A function's module and name: "layers.Clip". In the main program the name alone.
std::string qualified_name(Interpreter& interpreter, const Value& autograd);

std::shared_ptr<const jit::ProgramCall> program_call(Tracer& tracer, Interpreter& interpreter,
                                                     const Application& application);

}  // namespace kiln::interp::capture
