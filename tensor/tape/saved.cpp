#include "tensor/tape/saved.h"

#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/recompute.h"

namespace kiln::tape {

Saved::Saved(const Tensor& value) {
  if (Recompute* recompute = Recompute::current()) {
    if (const auto number = recompute->take(value)) {
      offset_ = static_cast<std::int64_t>(*number);
      source_ = Ref<ValueSource>(recompute);
    }
    return;
  }
  if (levels::wrapper_of(value) != nullptr) {
    wrapped_ = share_wrapped(value);
    return;
  }
  if (value.is_symbol()) {
    wrapped_ = value;
    return;
  }
  levels::announce_kept(value);
  buffer_ = value.storage()->buffer();
  offset_ = value.offset();
  if (!value.is_contiguous()) strides_ = std::make_unique<Dims>(value.strides());
}

Tensor Saved::unpack(const TensorType& type) const {
  if (source_) return source_->value(static_cast<std::size_t>(offset_.known()), type);
  if (wrapped_) return levels::wrapper_of(wrapped_) != nullptr ? share_wrapped(wrapped_) : wrapped_;
  if (!buffer_) return {};
  Layout layout{type.sizes, strides_ ? *strides_ : contiguous_strides(type.sizes), offset_};
  Tensor value = Tensor::from_storage(Storage::create(buffer_), std::move(layout), type.dtype);
  value.impl()->is_number = type.is_number;
  return value;
}

void Saved::settle(const SymbolValues& values) {
  offset_ = evaluate(offset_, values);
  if (strides_) *strides_ = evaluate(*strides_, values);
}

}  // namespace kiln::tape
