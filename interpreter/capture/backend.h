// Owns who runs a captured graph: the compiler (jit/compiled_graph.h), which decides how, or a backend of the
// program.
#pragma once

#include "interpreter/capture/compiled.h"

namespace kiln::interp::capture {

struct Made {
  Runner run;
  std::string note{};                            // what is to be said of it: why gradients are not compiled
  std::function<std::string()> note_of_calls{};  // likewise of those there were so far
  std::function<std::size_t()> code_bytes{};     // of machine code that was made for it so far; empty: none
  // What is made behind the interpreter is waited for; throws as make_runner does. Empty: it is made.
  std::function<void()> wait{};
  // Is it made? Empty: it is.
  std::function<bool()> ready{};
  std::shared_ptr<const Value> callable{};  // what a backend of the program gave, which `run` calls
};
// `wanted`: the inputs that require gradients while gradients are recorded. Throws OpError when the graph has
// no functional form, and (Interrupted) when compiling was to stop.
Made make_runner(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                 const std::vector<bool>& wanted);

}  // namespace kiln::interp::capture
