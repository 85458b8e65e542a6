// Owns forward mode as a level: every tensor carries its tangent.
#pragma once

#include <functional>

#include "tensor/levels/level.h"

namespace kiln::levels {

class DualLevel final : public Level {
 public:
  explicit DualLevel(Transform transform = Transform::Jvp) : Level(LevelKind::Dual, new_level(transform)) {}

  // A tensor of this level. The tangent has the sizes and dtype of `primal`; absent: zero.
  Tensor dual(const Tensor& primal, const Tensor& tangent) const;
  // Of a tensor of any level: absent where it is zero.
  Tensor tangent_of(const Tensor& x) const;

  // Writes the tangent of x, a tensor of this level, which views of the same memory share. Absent: zeros.
  void set_tangent(const Tensor& x, const Tensor& tangent) const;

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;

 private:
  Tensors differentiate(const Op& op, Inputs inputs, const Attrs& attrs);
};

// The product of tangents with the derivative of a function that has only a pullback, linear in the
// cotangents of `outputs`: the pullback of the pullback. Absent where it is zero.
Tensors transpose(const std::function<Tensors(Inputs cotangents)>& pullback, Inputs outputs, Inputs tangents);

}  // namespace kiln::levels
