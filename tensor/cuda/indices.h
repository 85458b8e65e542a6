// Owns elements at the places that indices say, on cards: reading them, and finding where writes go.
#pragma once

#include <optional>
#include <vector>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace kiln::cuda {

// Integers that say where to go along one dimension of a tensor.
struct IndexOperand {
  Tensor values;
  int first = 0;           // the dimension of the loop that their first one is; they broadcast
  std::int64_t size = 0;   // of the tensor's dimension
  std::int64_t step = 1;   // of the tensor along it
  bool is_checked = true;  // may values be out of range?
  bool wraps = false;      // are negative values counted from the end?
  int dim = 0;             // the dimension and the operand, for errors
  int operand = 0;

  std::int64_t least() const { return wraps ? -size : 0; }
};

// The index with what it holds now, for an error that is told later: who writes to it takes other memory.
Tensor kept(const Tensor& index);

// Of an index along `dim`, the first dimension of which is dimension `first` of the loop. A 0-d tensor counts
// as one of one dimension.
IndexOperand index_along(const Tensor& x, int dim, const Tensor& values, int first, int operand);

// The strides of an index along a loop of `rank` dimensions.
IntDims strides_of(const IndexOperand& index, std::size_t rank);

// The strides of a tensor along a loop of `rank` dimensions, but 0 along `dim`, where an index says where to
// go.
IntDims strides_but(const Tensor& x, int dim, int rank);

// A loop of which every element has a place in a tensor: what the strides and the indices add up to.
struct IndexedPlaces {
  IntDims sizes;
  IntDims strides;  // of the tensor
  std::vector<IndexOperand> indices;
};

// The error of the first index that is out of range, for which the host waits; none where all are in range.
std::optional<OpError> out_of_range(const IndexedPlaces& places);

// Elements of `x` at these places into the contiguous `result`, row by row. An index that is out of range is
// told when the host next waits (tensor/cuda/faults.h).
void take(const Tensor& result, const Tensor& x, IndexedPlaces places);

// The places themselves, counted in elements from the tensor's first one: i64, one for each element of the
// loop. Where an index is out of range `refused` is set, a word on the card (i32[1]) or nothing.
Tensor targets_of(IndexedPlaces places, Device device, const Tensor& refused);

}  // namespace kiln::cuda
