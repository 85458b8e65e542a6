// Owns how a kernel hands out its result piece by piece, while each is in cache.
#pragma once

#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// What is done to the result of a kernel as it is made.
class ResultPieces {
 public:
  // Before anything is computed: the contiguous tensor that the result goes to.
  virtual void begin(const Tensor& result) = 0;
  // Elements [begin, end) are there. Called from any thread, once for each element, before the kernel
  // returns.
  virtual void piece(std::int64_t begin, std::int64_t end) = 0;

 protected:
  ~ResultPieces() = default;
};

}  // namespace kiln::cpu
