// Owns values kept for backward: memory that later writes leave alone (Storage::writable_data copies it
// first).
#pragma once

#include <memory>

#include "tensor/references.h"

namespace kiln::tape {

// Gives values that are not kept, by number.
class ValueSource : public RefCounted {
 public:
  virtual ~ValueSource() = default;
  virtual Tensor value(std::size_t number, const TensorType& type) = 0;
  virtual void forget(std::size_t number) = 0;  // it is not asked for again
  virtual void visit_references(ReferenceVisitor& visitor) const = 0;
};
inline void destroy(ValueSource* source) { delete source; }

class Saved {
 public:
  Saved() = default;  // an absent tensor
  explicit Saved(const Tensor& value);
  Saved(Saved&&) noexcept = default;
  Saved& operator=(Saved&&) noexcept = default;
  ~Saved() {
    if (source_) [[unlikely]]
      source_->forget(static_cast<std::size_t>(offset_.known()));
  }
  // A tensor without history over the memory as it was. `type` is the type of the saved tensor.
  Tensor unpack(const TensorType& type) const;
  void settle(const SymbolValues& values);
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::visit_references(wrapped_, visitor);
    kiln::visit_references(source_, visitor);
  }

 private:
  Ref<Buffer> buffer_;
  // Of a transform's tensor: one that shares its value, in place of the buffer; of a number that follows
  // sizes that number.
  Tensor wrapped_;
  Ref<ValueSource> source_;  // inside of a checkpoint: who computes the value again, in place of the buffer
  Dim offset_ = 0;           // or the number of the value to compute
  std::unique_ptr<Dims> strides_;  // null: contiguous
};

}  // namespace kiln::tape
