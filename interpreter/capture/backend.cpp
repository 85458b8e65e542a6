#include "interpreter/capture/backend.h"

#include "jit/evaluate.h"
#include "jit/executable.h"
#include "jit/pipeline.h"

namespace kiln::interp::capture {
namespace {

// Up to the graph without writes; what computes the same in fewer steps is the fused backend's.
constexpr std::string_view kEagerPasses[] = {"expand_views", "functionalize", "dce"};

}  // namespace

bool is_backend(std::string_view name) { return name == "eager" || name == "aot_eager" || name == "fused"; }

Runner make_runner(Interpreter&, const CompileOptions& options, const jit::Graph& captured) {
  if (options.backend == kAsCaptured) {
    return [captured](Inputs arguments) { return jit::evaluate(captured, arguments); };
  }
  auto executable = jit::Executable::make(jit::run_passes(captured, kEagerPasses, false).back().graph);
  return [executable](Inputs arguments, const jit::SymbolValues& symbols) {
    return executable->run(arguments, symbols);
  };
}

}  // namespace kiln::interp::capture
