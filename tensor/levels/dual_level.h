// Owns forward mode as a level: every tensor carries its tangent.
#pragma once

#include "tensor/levels/level.h"

namespace kiln::levels {

class DualLevel final : public Level {
 public:
  DualLevel() : Level(LevelKind::Dual, new_level()) {}

  // A tensor of this level. The tangent has the sizes and dtype of `primal`; absent: zero.
  Tensor dual(const Tensor& primal, const Tensor& tangent) const;
  // Of a tensor of any level: absent where it is zero.
  Tensor tangent_of(const Tensor& x) const;

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;

 private:
  Tensors differentiate(const Op& op, Inputs inputs, const Attrs& attrs);
  void set_tangent(const Tensor& x, const Tensor& tangent) const;
};

// Tangents of `outputs` by transposing the row's vjp twice: for rows without a jvp rule of their own.
Tensors jvp_by_transposition(const JvpArgs& args);

}  // namespace kiln::levels
