// Owns how several indices go together, on cards: advanced indexing, which reads and writes ask alike.
#pragma once

#include <vector>

#include "tensor/cuda/indices.h"
#include "tensor/ops/advanced_index.h"

namespace kiln::cuda {

bool is_mask(const Tensor& index);

// What indices make of a tensor: dimensions before those that are indexed, the indices' common shape, and
// dimensions after.
struct IndexPlan {
  IntDims sizes;                       // of the result
  IntDims middle;                      // the common shape
  IntDims outer_sizes, outer_strides;  // of the tensor, of the dimensions before and after
  std::size_t before = 0;              // how many are before
  std::vector<IndexOperand> indices;   // over the common shape

  // A loop over the result, and one over the common shape alone.
  IndexedPlaces places() const;
  IndexedPlaces middle_places() const { return {middle, IntDims(middle.size(), 0), indices}; }
};

// `offsets`: the places of the true elements of each mask, as `offsets_of_masks` gives them. `operand`: the
// number of the first index among the op's inputs. Throws OpError (Index) where indices do not broadcast.
IndexPlan plan_of(const Tensor& x, Inputs indices, std::span<const Tensor> offsets, int operand);
// For which the host waits, where there are masks.
Tensors offsets_of_masks(const Tensor& x, Inputs indices, int operand);

}  // namespace kiln::cuda
