// Owns what a program and the library around LLVM hand each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/llvm/flow_plan.h"
#include "jit/loops/schedule.h"
#include "jit/passes/target.h"

namespace kiln::jit {

// What is handed to the library around LLVM, and what comes back. Nothing is thrown across.
struct CompileRequest {
  std::span<const ScheduledNest> nests;
  std::string processor;  // the instruction set by its name, "x86-64-v4"
  Product product = Product::Object;
  LineNames names;
  const FlowPlan* flow = nullptr;  // in place of nests: a flow, as the function `flow` (jit/llvm/flow_run.h)
};
struct CompileAnswer {
  std::string made;   // the bytes of the object, or the text
  std::string error;  // empty when all is well
};
using CompileFn = void (*)(const CompileRequest& request, CompileAnswer& answer);

}  // namespace kiln::jit
