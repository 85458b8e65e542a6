// Owns reverse mode as a level: one tape for one call of grad or vjp, on tensors of its own.
#pragma once

#include <vector>

#include "tensor/levels/level.h"
#include "tensor/tape/node.h"

namespace kiln::levels {

// An argument to differentiate by, inside of the function, and where gradients by it arrive.
struct Variable {
  Tensor inside;
  tape::Edge edge;
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::visit_references(inside, visitor);
    edge.visit_references(visitor);
  }
};

// Recording is on inside, whatever it was outside; `no_grad` inside holds for this level.
class GradLevel final : public Level {
 public:
  explicit GradLevel(Transform transform = Transform::Grad) : GradLevel(new_level(transform)) {}
  // Enters a level again that has ended, to walk back through what it recorded.
  explicit GradLevel(LevelId id);
  ~GradLevel() override;

  Variable variable(const Tensor& x);
  // What was computed below this level for it.
  Tensor made(const Tensor& x) const { return wrap(x); }
  // A tensor of the level below as a constant of this one.
  Tensor constant(const Tensor& x) const;

  // The gradients of `outputs`, each with one of its own, by the variables, one level below; absent where
  // they do not depend on it. Unless kept, recorded values are released on the way.
  std::vector<Tensor> gradients(Inputs outputs, Inputs output_grads, std::span<const Variable> variables,
                                bool keep);

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;

 private:
  Tensor lift(const Tensor& x) const;
  bool recording_outside_;
};

}  // namespace kiln::levels
