// Owns the error that a stage throws when it needs a compiler and the machine has none.
#pragma once

#include "tensor/error.h"

namespace kiln::jit {

// There is no library around LLVM, or it is not ours: nothing that the program did.
class NoCompiler : public InternalError {
  using InternalError::InternalError;
};

}  // namespace kiln::jit
