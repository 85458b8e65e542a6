#include "jit/runtime/prepared.h"

#include "jit/passes/faults.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"

namespace kiln::jit {
namespace {

std::shared_ptr<const Executable> executable_of(Graph graph, const PrepareOptions& options) {
  return options.takes_arguments ? Executable::make_taking(std::move(graph))
                                 : Executable::make(std::move(graph));
}

std::shared_ptr<const Executable> op_by_op(const Graph& graph, const PrepareOptions& options) {
  try {
    return executable_of(run_recipe(*options.op_by_op, graph), options);
  } catch (const InternalError& error) {
    note_fault(graph, {}, error, "its ops run as they stand in the graph");
    return executable_of(graph, options);
  }
}

}  // namespace

Prepared prepared(const Graph& graph, const PrepareOptions& options) {
  Prepared made;
  if (options.fused) {
    try {
      return {executable_of(run_recipe(recipes::kFused, graph), options), ""};
    } catch (const NoCompiler& none) {
      made.no_compiler = none.what();
    } catch (const InternalError& error) {
      note_fault(graph, {}, error, "its ops run one by one");
    }
  }
  made.run = op_by_op(graph, options);
  return made;
}

}  // namespace kiln::jit
