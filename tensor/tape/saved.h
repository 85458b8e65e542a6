// Owns values kept for backward: memory that later writes leave alone (Storage::writable_data copies it
// first).
#pragma once

#include <memory>

#include "tensor/tensor.h"

namespace kiln::tape {

class Saved {
 public:
  Saved() = default;  // an absent tensor
  explicit Saved(const Tensor& value);
  // A tensor without history over the memory as it was. `type` is the type of the saved tensor.
  Tensor unpack(const TensorType& type) const;

 private:
  Ref<Buffer> buffer_;
  Tensor wrapped_;  // of a transform's tensor: one that shares its value, in place of the buffer
  std::int64_t offset_ = 0;
  std::unique_ptr<Dims> strides_;  // null: contiguous
};

}  // namespace kiln::tape
