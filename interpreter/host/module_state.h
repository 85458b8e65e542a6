// Owns what others must know of functions made by `functionalize`.
#pragma once

#include "interpreter/value.h"
#include "jit/passes/passes.h"

namespace kiln::interp::host {

struct Functionalized {
  Value function;
  jit::Remove remove;
};
// Null when `f` was not made by `functionalize`.
const Functionalized* functionalized(const Value& f);

}  // namespace kiln::interp::host
