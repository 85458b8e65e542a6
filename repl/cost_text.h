// Owns how the cost of a kernel reads, as `:kernels` and pages show it.
#pragma once

#include <string>

#include "jit/runtime/measure.h"

namespace kiln::repl {

struct CostText {
  std::string kernel, ops, bytes, flops, time, share;
};
CostText cost_text(const jit::NodeCost& cost);
// "8.78 GB/s of memory, 134 GFLOP/s of f32".
std::string machine_text();

}  // namespace kiln::repl
