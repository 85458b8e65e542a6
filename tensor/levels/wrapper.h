// Owns the tensors of transforms: a tensor of one level stands for one of the level below.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tensor/tensor.h"

namespace kiln {

// A level is one call of a transform. Numbers are never used twice, so that a tensor which outlives its level
// is known for what it is. The last digits of a number say which transform the program called.
using LevelId = std::uint64_t;
enum class Transform : std::uint8_t {
  Grad,
  ValueAndGrad,
  Vjp,
  Linearize,
  Jacrev,
  Jvp,
  Jacfwd,
  Hessian,
  Vmap,
  Checkpoint,
  Trace
};
enum class LevelKind : std::uint8_t {
  Grad,
  Dual,
  Batch,
  Note,   // notes what a checkpointed function computes on tensors of the level below; has none of its own
  Trace,  // notes what is computed, or hears of it, and has no tensors of its own
  Rows,   // no level: the tensor is a gradient by rows (tensor/tape/sparse_gradient.h): `value` has the rows,
          // `tangent` says which
};

// Storage, layout and dtype of a wrapped tensor are those of `value`, for Batch those of one example: shape,
// strides and aliasing are asked as of any other. Places in the storage are counted from where the example's
// own memory begins, so that they are the same whichever example it is. History and origin are the level's
// own.
struct Wrapper {
  LevelId level;
  LevelKind kind;
  bool captured;   // a view of a tensor from outside of the level: not to be written
  Tensor value;    // Batch: the batch is dimension 0
  Tensor tangent;  // Dual: of the type of `value`; absent: zero
  // Batch, of views made within the level: the layout of the value that the first of them was taken of, whose
  // elements are the examples' own memory. Null: that of `value`.
  std::shared_ptr<const Layout> memory;
};

namespace levels {

// "jacrev": as the program wrote it.
std::string_view transform_name(Transform transform);
std::string_view transform_name(LevelId level);

inline Wrapper* wrapper_of(const Tensor& x) { return x.impl()->wrapper.get(); }
inline bool belongs_to(const Tensor& x, LevelId level) {
  const Wrapper* wrapper = wrapper_of(x);
  return wrapper != nullptr && wrapper->level == level;
}

// A tensor of the level over `value`.
Tensor wrap(LevelId level, LevelKind kind, Tensor value, Tensor tangent = {}, bool captured = false,
            std::shared_ptr<const Layout> memory = nullptr);
// Another tensor of the same level over `value`, which shows what the value of x does.
Tensor wrap_like(const Tensor& x, Tensor value, Tensor tangent);
// Another tensor over the same value, without history and origin.
Tensor wrap_again(const Tensor& x);
// x stands for what `y`, a tensor of the same level, stands for: value and layout.
void become(const Tensor& x, const Tensor& y);

// Does x differ between the examples of a vmap, at any level?
bool is_batched(const Tensor& x);
// The plain tensor at the bottom, with all examples of every vmap: for rules that choose how to compute.
Tensor innermost(const Tensor& x);
// Throws OpError (Value): the transform that x was made in has ended.
[[noreturn]] void refuse_escaped(const Tensor& x);

}  // namespace levels
}  // namespace kiln
