// Owns memory that a kernel computes in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/storage.h"

namespace kiln::cpu {

// Uninitialized elements, from the tensors' own memory, which is kept for the next time.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count)
      : buffer_(Buffer::allocate(static_cast<std::size_t>(count) * sizeof(T), Device{})) {}
  T* get() const { return reinterpret_cast<T*>(buffer_->data()); }

 private:
  Ref<Buffer> buffer_;
};

}  // namespace kiln::cpu
