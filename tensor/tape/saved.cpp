#include "tensor/tape/saved.h"

#include "tensor/levels/wrapper.h"
#include "tensor/tape/meta.h"

namespace kiln::tape {

Saved::Saved(const Tensor& value) {
  if (levels::wrapper_of(value) != nullptr) {
    wrapped_ = share_wrapped(value);
    return;
  }
  buffer_ = value.storage()->buffer();
  offset_ = value.offset();
  if (!value.is_contiguous()) strides_ = std::make_unique<Dims>(value.strides());
}

Tensor Saved::unpack(const TensorType& type) const {
  if (wrapped_) return share_wrapped(wrapped_);
  if (!buffer_) return {};
  Layout layout{type.sizes, strides_ ? *strides_ : contiguous_strides(type.sizes), offset_};
  Tensor value = Tensor::from_storage(Storage::create(buffer_), std::move(layout), type.dtype);
  value.impl()->is_number = type.is_number;
  return value;
}

}  // namespace kiln::tape
