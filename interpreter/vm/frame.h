// Owns an activation: everything needed to stop a call at an instruction and to go on from it later.
#pragma once

#include "interpreter/values/code.h"

namespace kiln::interp {

// Registers are base[0] … base[code->registers - 1]; base[-1] holds the function and then its result.
struct Frame {
  const Instruction* pc;  // being executed
  Value* base;
  Value* slots;  // of the module
  const Function* function;
  const Code* code;
  bool is_driven = false;  // it began compiled, or a loop in it did

  Module& module() const { return function->module.as<Module>(); }
  std::size_t place() const { return static_cast<std::size_t>(pc - code->instructions.data()); }
  bool is_temporary(std::uint32_t r) const { return r >= code->locals; }
};

}  // namespace kiln::interp
