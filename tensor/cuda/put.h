// Owns putting elements where indices say, on cards, in the order in which the CPU does.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/cuda/indices.h"
#include "tensor/ops/put.h"

namespace kiln::cuda {

// The step from each element of a loop to the next, where it is the same for all.
std::optional<std::int64_t> one_step(const IntDims& sizes, const IntDims& strides);

// The elements that go to one target.
struct Columns {
  IntDims sizes, result_strides, source_strides;
  std::int64_t step = 0;  // of the source, from the elements for one target to those for the next

  // Removes a dimension, and gives the source's stride along it.
  std::int64_t take(int dim);
};

// Places of a tensor that a loop of indices says. The tensor has no overlap.
class Targets {
 public:
  Targets(const Tensor& result, IndexedPlaces places);

  // Puts elements of `source`, which is apart from the result and of its dtype: one for each place, which has
  // the sizes of the loop, or as many as there are columns. Where places are equal they are put in the order
  // of the loop. Where an index is out of range nothing is put.
  void put(const Tensor& source, Put put) const;
  void put(const Tensor& source, const Columns& columns, Put put) const;

 private:
  Tensor result_;
  IntDims sizes_;              // of the loop
  std::int64_t unit_ = 1;      // elements that targets count
  std::int64_t below_ = 1;     // all targets are below it
  bool are_distinct_ = false;  // is it known that no two are equal?
  Tensor refused_;             // a word on the card, or nothing
  Tensor targets_;             // i64[count]
  mutable Tensor order_;       // i64[count], where it was needed
};

}  // namespace kiln::cuda
