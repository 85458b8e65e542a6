// Owns finding the elements that are true, on cards.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cuda {

// The elements of a tensor that are not zero. They are counted by blocks when this is made, for which the
// host waits.
class TrueElements {
 public:
  explicit TrueElements(const Tensor& x);
  // As it was: what the members give.
  TrueElements(Tensor flags, Tensor before, std::int64_t count)
      : flags_(std::move(flags)), before_(std::move(before)), count_(count) {}

  std::int64_t count() const { return count_; }
  const Tensor& flags() const { return flags_; }    // bool, contiguous
  const Tensor& before() const { return before_; }  // i64: true ones before each block, and in all

  // Their places with these strides, in order: i64[count].
  Tensor places(const IntDims& sizes, const IntDims& strides) const;
  // Their index in a tensor of these sizes, a row for each: into i64[count, rank].
  void put_indices(const Tensor& result, const IntDims& sizes) const;

 private:
  Tensor sum_of_places(const IntDims& sizes, const IntDims& strides) const;

  Tensor flags_, before_;
  std::int64_t count_ = 0;
};

}  // namespace kiln::cuda
