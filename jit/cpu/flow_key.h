// Owns what the machine code of a flow depends on, as bytes: equal keys, equal code.
#pragma once

#include <string>

#include "jit/llvm/flow_plan.h"

namespace kiln::jit {

// With what makes code of it, and what for; empty where it is not known what makes it. Names, places and
// attributes are no part of it: code sees these only as far as the plan was worked out of them.
std::string flow_key(const FlowPlan& plan);

}  // namespace kiln::jit
