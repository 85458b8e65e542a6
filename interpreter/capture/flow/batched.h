// Owns what a loop within `vmap` is read with: the levels of the program once more, and tensors of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/levels/batch_level.h"

namespace kiln::interp::capture {

// A vmap around a loop, with its number of examples in the call in which the loop is read.
struct VmapAround {
  LevelId id = 0;
  levels::Randomness randomness = levels::Randomness::Error;
  std::int64_t examples = 0;
};

// Within its scope the ops of a reading go through these levels, outermost first, so that steps are those
// that the batching rules make, and tensors belong to the levels as the program's own do.
class LevelsAround {
 public:
  LevelsAround() = default;
  ~LevelsAround();
  LevelsAround(const LevelsAround&) = delete;
  LevelsAround& operator=(const LevelsAround&) = delete;
  void enter(const VmapAround& vmap, Dim size);

 private:
  std::vector<std::unique_ptr<levels::BatchLevel>> entered_;
};

// The vmaps that a tensor belongs to, innermost first: those of its value, then its own.
std::vector<LevelId> levels_of(const Tensor& x);
// A tensor of these vmaps over a plain one, which has all examples.
Tensor batched(Tensor plain, std::span<const LevelId> vmaps);
// Is a tensor plain, or of vmaps alone that are entered now?
bool is_readable_batch(const Tensor& x);

}  // namespace kiln::interp::capture
