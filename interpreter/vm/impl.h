// Owns what an Interpreter is made of.
#pragma once

#include "interpreter/interpreter.h"
#include "interpreter/vm/modules.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {

struct Interpreter::Impl {
  Value main, prelude;  // keep the modules alive
  Modules modules;
  Vm vm;

  explicit Impl(Interpreter& interpreter) : modules(interpreter), vm(interpreter) {}
};

}  // namespace kiln::interp
