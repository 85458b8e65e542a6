// Owns whether memory may be used for something else, since nobody else holds it.
#pragma once

#include "tensor/levels/level.h"
#include "tensor/tape/record.h"

namespace kiln::jit {

// Does nobody but the caller hold the first of them, nor anything of its memory? Nor will anybody ask what it
// was.
inline bool holds_alone(Inputs operands) {
  const Tensor& x = operands[0];
  return x.impl()->ref_count() == 1 && !x.impl()->wrapper && x.is_contiguous() &&
         x.storage()->ref_count() == 1 && x.storage()->buffer()->ref_count() == 1 && levels::top == nullptr &&
         !tape::sees(operands);
}

}  // namespace kiln::jit
