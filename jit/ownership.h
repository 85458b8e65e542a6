// Owns whether memory may be used for something else, since nobody else holds it.
#pragma once

#include "tensor/core_ops.h"
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

// Is the tensor all that lies in its memory?
inline bool fills_memory(const Tensor& x) {
  return !x.impl()->wrapper && !x.is_number() && x.is_contiguous() && x.offset() == 0 &&
         static_cast<std::size_t>(x.numel()) * size_of(x.dtype()) == x.storage()->bytes();
}
// Is a write to `x` nothing but other elements in its memory, which it fills? Nobody records it.
inline bool is_plain_write(const Tensor& x, const Tensor& value) {
  static const Op& copy = core_ops().copy;
  const Tensor inputs[] = {x, value};
  return levels::top == nullptr && fills_memory(x) && !tape::sees_write(copy, inputs);
}
// May it be written over where it lies? Nobody else holds the memory either, as what is saved for backward
// does.
inline bool may_be_written_over(const Tensor& x) {
  return is_plain_write(x, x) && x.storage()->buffer()->ref_count() == 1;
}

}  // namespace kiln::jit
