#include "interpreter/capture/backend.h"

#include "jit/evaluate.h"
#include "jit/pipeline.h"

namespace kiln::interp::capture {
namespace {

// Up to the graph without writes; what computes the same in fewer steps is the fused backend's.
constexpr std::string_view kEagerPasses[] = {"expand_views", "functionalize", "dce"};

}  // namespace

Runner make_runner(Interpreter&, const CompileOptions&, const jit::Graph& captured) {
  auto functional = std::make_shared<const jit::Graph>(jit::run_passes(captured, kEagerPasses, false).back().graph);
  return [functional](Inputs arguments) { return jit::evaluate(*functional, arguments); };
}

}  // namespace kiln::interp::capture
