#include "interpreter/capture/backend.h"

#include <fmt/format.h>

#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/graph/evaluate.h"
#include "tensor/error.h"

namespace kiln::interp::capture {
namespace {

constexpr BackendRow kBackends[] = {
    {"fused", "kernels of several ops, compiled for the device", jit::Backend::Kernels},
    {"aot_eager", "op by op, with gradients made ahead of time", jit::Backend::AotOps},
    {"eager", "op by op, with gradients by the tape", jit::Backend::Ops},
};

const BackendRow* find_backend(std::string_view name) {
  for (const BackendRow& each : kBackends) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

void tell_of_no_compiler(Interpreter& interpreter, const std::string& why) {
  static bool told = false;
  if (!told) interpreter.write_error(fmt::format("warning: kernels are not compiled: {}\n", why));
  told = true;
}

// The graph without writes, edited by the passes that the program asked for.
jit::Graph functional_graph(Interpreter& interpreter, const CompileOptions& options,
                            const jit::Graph& captured) {
  jit::Graph graph = jit::functional_graph(captured);
  try {
    for (const OwnPass& each : options.own_passes) graph = run_own(interpreter, each, graph);
  } catch (const lang::UserError& error) {
    throw OpError(ErrorKind::Capture, fmt::format("a pass raised {}", sentence_of(error)));
  }
  return graph;
}

CompiledRunner made_by_program(Interpreter& interpreter, const CompileOptions& options,
                               const jit::Graph& captured, const std::vector<bool>& wanted) {
  const jit::Graph functional = functional_graph(interpreter, options, captured);
  OwnRunner own = run_own(interpreter, options.own_backend, functional);
  CompiledRunner made;
  made.run = jit::guarded(captured, functional, wanted, std::move(own.run));
  made.callable = std::move(own.callable);
  return made;
}

}  // namespace

std::span<const BackendRow> backends() { return kBackends; }

std::string known_backends() {
  std::string names;
  for (const BackendRow& each : kBackends) {
    const bool is_last = &each == std::end(kBackends) - 1;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : is_last ? " and " : ", ", each.name);
  }
  return "backends are " + names;
}

bool is_backend(std::string_view name) { return find_backend(name) != nullptr; }

CompiledRunner make_runner(Interpreter& interpreter, const CompileOptions& options,
                           const jit::Graph& captured, const std::vector<bool>& wanted) {
  if (options.backend == kAsCaptured) {
    return {[captured](Inputs arguments, const SymbolValues&) { return jit::evaluate(captured, arguments); }};
  }
  if (!options.own_backend.is_none()) return made_by_program(interpreter, options, captured, wanted);
  const BackendRow* const row = find_backend(options.backend);
  if (row == nullptr) throw InternalError("there is no backend '" + options.backend + "'");
  const jit::CompileSettings settings{row->backend, wanted, options.memory_budget};
  jit::CompiledGraph compiled =
      options.own_passes.empty()
          ? jit::compile_graph(captured, settings)
          : jit::compile_edited(captured, functional_graph(interpreter, options, captured), settings);
  CompiledRunner made;
  made.run = std::move(compiled.run);
  made.note = std::move(compiled.note);
  made.note_of_calls = std::move(compiled.note_of_calls);
  made.code_bytes = std::move(compiled.code_bytes);
  made.ready = std::move(compiled.ready);
  if (compiled.wait) {
    made.wait = [wait = std::move(compiled.wait), &interpreter] {
      if (const std::string why = wait(); !why.empty()) tell_of_no_compiler(interpreter, why);
    };
  }
  return made;
}

}  // namespace kiln::interp::capture
