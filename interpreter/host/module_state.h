// Owns what others must know of functions made by `functionalize`.
#pragma once

#include "interpreter/values/references.h"
#include "jit/passes/functionalize.h"

namespace kiln::interp::host {

struct Functionalized {
  Value function;
  jit::Remove remove;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(function, visitor); }
};
// Null when `f` was not made by `functionalize`.
const Functionalized* functionalized(const Value& f);

}  // namespace kiln::interp::host
