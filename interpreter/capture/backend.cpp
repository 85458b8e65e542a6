#include "interpreter/capture/backend.h"

#include <map>

#include <fmt/format.h>

#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/evaluate.h"
#include "jit/executable.h"
#include "jit/fused.h"
#include "jit/pipeline.h"
#include "jit/shape_rules.h"

namespace kiln::interp::capture {
namespace {

// Up to the graph without writes; what computes the same in fewer steps is the fused backend's.
constexpr std::size_t kMostSizes = 1024;  // remembered

constexpr std::string_view kEagerPasses[] = {"expand_views", "functionalize", "dce"};

Runner run_ops(const jit::Graph& functional) {
  auto executable = jit::Executable::make(functional);
  return [executable](Inputs arguments, const jit::SymbolValues& symbols) {
    return executable->run(arguments, symbols);
  };
}

// Ops that no result needs are gone from what runs, but must hold for these sizes as well: an error in eager
// is an error here. Asked once per tuple of values.
Runner checked(const jit::Graph& captured, Runner run) {
  if (captured.hints.empty()) return run;
  struct Known {
    jit::Graph graph;
    std::map<jit::SymbolValues, std::string> misfits;
  };
  auto known = std::make_shared<Known>(Known{captured, {}});
  return [known, run = std::move(run)](Inputs arguments, const jit::SymbolValues& symbols) {
    auto found = known->misfits.find(symbols);
    if (found == known->misfits.end()) {
      if (known->misfits.size() >= kMostSizes) known->misfits.clear();
      found = known->misfits.emplace(symbols, jit::check_shapes(known->graph, symbols)).first;
    }
    if (!found->second.empty()) throw OpError(ErrorKind::Capture, found->second);
    return run(arguments, symbols);
  };
}

Runner run_kernels(const jit::Graph& captured) {
  return run_ops(jit::fuse(jit::run_pipeline(captured, false).back().graph).graph);
}

}  // namespace

bool is_backend(std::string_view name) { return name == "eager" || name == "aot_eager" || name == "fused"; }

// The tape must see ops that have derivatives: what needs gradients runs op by op.
Runner make_runner(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                   bool needs_gradients) {
  if (options.backend == kAsCaptured) {
    return
        [captured](Inputs arguments, const jit::SymbolValues&) { return jit::evaluate(captured, arguments); };
  }
  if (options.own_backend.is_none() && options.backend == "fused" && !needs_gradients) {
    try {
      return checked(captured, run_kernels(captured));
    } catch (const InternalError& error) {
      static bool told = false;
      if (!told)
        interpreter.write_error(fmt::format("warning: kernels are not compiled: {}\n", error.what()));
      told = true;
    }
  }
  const jit::Graph functional = jit::run_passes(captured, kEagerPasses, false).back().graph;
  if (!options.own_backend.is_none())
    return checked(captured, run_own(interpreter, options.own_backend, functional));
  return checked(captured, run_ops(functional));
}

}  // namespace kiln::interp::capture
