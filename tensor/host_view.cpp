#include "tensor/host_view.h"

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/error.h"

namespace kiln {
// Memory of the host with what the tensor's layout reaches: strides are never negative, so it begins at the
// first element.
Tensor copied_to_host(const Tensor& x) {
  x.check_readable();
  const auto [first, end] = extent(at_hints(x.layout()));
  Tensor copy = Tensor::empty(Dims{end - first}, x.dtype(), Device{});
  const std::size_t item = size_of(x.dtype());
  copy_bytes(*copy.storage()->buffer(), 0, *x.storage()->buffer(), static_cast<std::size_t>(first) * item,
             static_cast<std::size_t>(end - first) * item);
  return Tensor::alias(copy, {x.sizes(), x.strides(), 0});
}

HostView::HostView(const Tensor& x, DType dtype) : first_(nullptr), byte_count_(0) {
  const bool is_here = is_on_host(x.device());
  checked(x);
  if (!is_here) copy_ = copied_to_host(x);
  const Tensor& seen = is_here ? x : copy_;
  if (!seen.is_contiguous() || seen.dtype() != dtype) copy_ = cpu::contiguous_copy(seen, dtype);
  first_ = (copy_ ? copy_ : x).raw();
  byte_count_ = static_cast<std::size_t>(x.numel().hint()) * size_of(dtype);
}

void HostView::refuse_without_elements(const Tensor& x) {
  x.check_readable();  // which knows more of a sparse gradient
  throw OpError(ErrorKind::Capture, "the elements of a " + to_string(x.type()) + " are not there to be read");
}

const std::byte* HostView::copied(const Tensor& x) {
  copy_ = copied_to_host(checked(x));
  return copy_.raw();
}

WritableHostView::WritableHostView(const Tensor& x)
    : first_(nullptr), byte_count_(static_cast<std::size_t>(x.numel().hint()) * size_of(x.dtype())) {
  if (!x.is_contiguous()) throw InternalError("the host was to write a tensor that is not row by row");
  if (!is_on_host(x.device())) {
    target_ = x;
    copy_ = Tensor::empty(x.sizes(), x.dtype(), Device{});
  }
  first_ = (copy_ ? copy_ : x).raw_writable();
}

void WritableHostView::put_back() {
  target_.raw_writable();  // memory that no saved value holds, and one write more
  copy_bytes(*target_.storage()->buffer(),
             static_cast<std::size_t>(target_.offset()) * size_of(target_.dtype()),
             *copy_.storage()->buffer(), 0, byte_count_);
}

}  // namespace kiln
