// Owns vmap as a level: every tensor of it stands for a batch, and ops run once for all of its examples.
#pragma once

#include "tensor/levels/level.h"

namespace kiln::levels {

// What random ops do under vmap: refuse, draw for the whole batch at once, or give every example the draw it
// would get alone.
enum class Randomness : std::uint8_t { Error, Different, Same };

class BatchLevel final : public Level {
 public:
  BatchLevel(Dim size, Randomness randomness, Transform transform = Transform::Vmap)
      : BatchLevel(size, randomness, new_level(transform)) {}
  // The examples from `start` on of a batch of `whole`: random ops draw as if all of it were here.
  BatchLevel(Dim size, Randomness randomness, Dim start, Dim whole)
      : Level(LevelKind::Batch, new_level(Transform::Vmap)),
        size_(size),
        randomness_(randomness),
        start_(start),
        whole_(whole) {}
  // Enters a level again that has ended.
  BatchLevel(Dim size, Randomness randomness, LevelId id)
      : Level(LevelKind::Batch, id), size_(size), randomness_(randomness), whole_(size) {}

  Dim size() const { return size_; }
  Randomness randomness() const { return randomness_; }
  // The example of `value`, a tensor of the level below with the batch as dimension 0.
  Tensor example_of(const Tensor& value) const { return wrap(value); }
  // All examples of x, one level below, with the batch as dimension 0: expanded when they are all alike.
  Tensor batch_of(const Tensor& x) const;

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;
  Tensor adopt(Tensor made) override;

 private:
  Tensors run_rule(const Op& op, Inputs inputs, const Attrs& attrs);
  std::shared_ptr<const Layout> memory_of_result(const Op& op, Inputs inputs, const Tensor& value) const;
  Tensors draw(const Op& op, Inputs inputs, const Attrs& attrs);
  Tensors draw_part(const Op& op, Inputs inputs, const Attrs& attrs);
  Tensors of_none(const Op& op, Inputs inputs, const Attrs& attrs);
  // Example by example, then stacked. `alike`: each starts with the generator as it is now.
  Tensors loop(const Op& op, Inputs inputs, const Attrs& attrs, bool alike);

  Dim size_;
  Randomness randomness_;
  Dim start_ = 0;
  Dim whole_;
};

}  // namespace kiln::levels
