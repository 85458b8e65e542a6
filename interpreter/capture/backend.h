// Owns the choice of what runs a captured graph: the compiler (jit/pipeline/compiled_graph.h), which decides
// how, or a backend of the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interpreter/capture/compiled.h"
#include "jit/pipeline/compiled_graph.h"

namespace kiln::interp::capture {

struct CompiledRunner {
  Runner run;
  std::string note{};                            // for the user, as why gradients are not compiled
  std::function<std::string()> note_of_calls{};  // says so of the calls so far
  std::function<std::size_t()> code_bytes{};     // of machine code so far; empty: none
  // Waits until `run` is compiled, behind the interpreter; throws as make_runner does. Empty: it is compiled.
  std::function<void()> wait{};
  // Is `run` compiled? Empty: it is.
  std::function<bool()> ready{};
  std::shared_ptr<const Value> callable{};  // the function of the program's backend, which `run` calls
};
// A way to run captured graphs, by the name that programs give.
struct BackendRow {
  std::string_view name;
  std::string_view meaning;
  jit::Backend backend;
};
// The first is that of functions that ask for none.
std::span<const BackendRow> backends();
// "backends are "fused", …", for errors.
std::string known_backends();

// `wanted`: the inputs that require gradients while gradients are recorded. Throws OpError when the graph has
// no functional form, and (Interrupted) when the user stops compilation.
CompiledRunner make_runner(Interpreter& interpreter, const CompileOptions& options,
                           const jit::Graph& captured, const std::vector<bool>& wanted);

}  // namespace kiln::interp::capture
