#include "dist/controller/executor.h"

#include "tensor/cuda/context.h"
#include "tensor/functions.h"

namespace kiln::dist {

Submitted::Submitted(Tensor tensor, bool has_like_result) : tensor_(std::move(tensor)) {
  if (tensor_.device().kind == Device::Kind::Cuda) {
    take_on_card(has_like_result);
  } else {
    buffer_ = tensor_.storage()->buffer();
    view_.emplace(tensor_, tensor_.dtype());
    bytes_ = {view_->bytes(), view_->byte_count()};
  }
}

Submitted::~Submitted() = default;

void Submitted::take_on_card(bool has_like_result) {
  tensor_.check_readable();
  tensor_ = ops::contiguous(tensor_);
  buffer_ = tensor_.storage()->buffer();
  bytes_ = {tensor_.raw(), static_cast<std::size_t>(tensor_.numel().fixed()) * size_of(tensor_.dtype())};
  if (has_like_result) result_ = Tensor::empty(tensor_.sizes(), tensor_.dtype(), tensor_.device());
  ready_ = std::make_unique<cuda::Event>(cuda::Context::of(tensor_.device()));
  ready_->record();
}

}  // namespace kiln::dist
