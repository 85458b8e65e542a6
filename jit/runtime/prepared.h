// Owns making what runs of a functional graph: as kernels, or op by op, by which recipe, and what is done
// where a pass fails.
#pragma once

#include <memory>
#include <string>

#include "jit/passes/recipes.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/pending_executable.h"

namespace kiln::jit {

struct PrepareOptions {
  bool fused = false;                          // as kernels, where there is a compiler
  const Recipe* op_by_op = &recipes::kOpByOp;  // else
  bool takes_arguments = false;                // as Executable::make_taking
};
struct Prepared {
  std::shared_ptr<const Executable> run;
  std::string no_compiler;  // why it runs op by op though it was to be kernels; empty: it does as it was to
};
// A pass that fails is noted (jit/passes/faults.h), and the graph runs op by op; if it fails there, too, as
// it is.
Prepared prepared(const Graph& graph, const PrepareOptions& options = {});

}  // namespace kiln::jit
