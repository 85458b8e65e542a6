// Owns a function of the program as a hook: what is given a gradient, and may give another in its place.
#pragma once

#include "interpreter/interpreter.h"

namespace kiln::interp::host {

struct ProgramHook {
  Interpreter* interpreter;
  Value function;
  kiln::Tensor operator()(const kiln::Tensor& gradient) const;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(function, visitor); }
};

// The same, called with a leaf after its gradient was added to.
struct ProgramPostHook {
  Interpreter* interpreter;
  Value function;
  void operator()(const kiln::Tensor& leaf) const;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(function, visitor); }
};

}  // namespace kiln::interp::host
