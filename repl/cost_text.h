// Owns how the cost of a kernel reads, as `:kernels` and pages show it.
#pragma once

#include <string>

#include "jit/runtime/measure.h"

namespace kiln::repl {

struct CostText {
  std::string kernel, ops, bytes, flops, time;
  std::string roof;  // "59 % of L2, 41 GB/s"
};
CostText cost_text(const jit::NodeCost& cost);

}  // namespace kiln::repl
