#include "tensor/tape/saved.h"

namespace kiln::tape {

Saved::Saved(const Tensor& value) : buffer_(value.storage()->buffer()), offset_(value.offset()) {
  if (!value.is_contiguous()) strides_ = std::make_unique<Dims>(value.strides());
}

Tensor Saved::unpack(const TensorType& type) const {
  if (!buffer_) return {};
  Layout layout{type.sizes, strides_ ? *strides_ : contiguous_strides(type.sizes), offset_};
  Tensor value = Tensor::from_storage(Storage::create(buffer_), std::move(layout), type.dtype);
  value.impl()->is_number = type.is_number;
  return value;
}

}  // namespace kiln::tape
