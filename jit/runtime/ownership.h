// Owns the tests whether memory may be reused, since it has no other owner.
#pragma once

#include "tensor/core_ops.h"
#include "tensor/levels/level.h"
#include "tensor/tape/record.h"

namespace kiln::jit {

// Is the caller the only owner of the first operand and of its memory, and will neither the tape nor a
// transform ask for its value?
inline bool holds_alone(Inputs operands) {
  const Tensor& x = operands[0];
  return x.impl()->ref_count() == 1 && !x.impl()->wrapper && x.is_contiguous() &&
         x.storage()->ref_count() == 1 && x.storage()->buffer()->has_one_owner() && levels::top == nullptr &&
         !tape::sees(operands);
}

// Does the tensor fill its memory?
inline bool fills_memory(const Tensor& x) {
  return !x.impl()->wrapper && !x.is_number() && x.is_contiguous() && x.offset() == 0 &&
         static_cast<std::size_t>(x.numel()) * size_of(x.dtype()) == x.storage()->bytes();
}
// Does a write to `x` only replace the elements of its memory, which it fills, with nothing recording the
// write?
inline bool is_plain_write(const Tensor& x, const Tensor& value) {
  static const Op& copy = core_ops().copy;
  const Tensor inputs[] = {x, value};
  return levels::top == nullptr && fills_memory(x) && !tape::sees_write(copy, inputs);
}
// May x be overwritten in its memory? Its buffer must have no other owner, as a value saved for backward is.
inline bool may_be_written_over(const Tensor& x) {
  return is_plain_write(x, x) && !x.storage()->copies_before_write();
}

}  // namespace kiln::jit
