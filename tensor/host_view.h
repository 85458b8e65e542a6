// Owns how code of the host sees the elements of a tensor: the memory itself where the host may touch it,
// else a copy.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include "tensor/tensor.h"

namespace kiln {

// A tensor of the host with the elements of a tensor of a device, and its layout. Throws as HostView does.
Tensor copied_to_host(const Tensor& x);

// The elements of a tensor, to be read by the host: files, printing, `item`, comparisons, constants of
// graphs. Kernels alone ask a tensor for its memory. On the CPU a view is that memory and costs nothing; of a
// tensor elsewhere it is a copy as of when the view was made. The tensor must live as long as the view.
// Throws OpError (Value) for a tensor of a transform, whose elements cannot be read (Tensor::check_readable),
// and (Capture) for one without elements.
class HostView {
 public:
  // As the tensor's strides say.
  explicit HostView(const Tensor& x)
      : first_(is_on_host(x.device()) ? checked(x).raw() : copied(x)), byte_count_(bytes_of(x)) {}
  // Row by row and cast to `dtype`: a copy unless the tensor is stored so.
  HostView(const Tensor& x, DType dtype);
  HostView(Tensor&&) = delete;
  HostView(Tensor&&, DType) = delete;

  // The first element. T is the element type (`ElementOf`).
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(first_);
  }
  const std::byte* bytes() const { return first_; }
  // Of all elements, of a view that is row by row.
  std::size_t byte_count() const { return byte_count_; }

 private:
  static std::size_t bytes_of(const Tensor& x) {
    return static_cast<std::size_t>(x.numel().hint()) * size_of(x.dtype());
  }
  static const Tensor& checked(const Tensor& x) {
    if (!x.has_elements() && x.numel().hint() != 0) [[unlikely]]
      refuse_without_elements(x);
    return x;
  }
  [[noreturn]] static void refuse_without_elements(const Tensor& x);
  const std::byte* copied(const Tensor& x);

  Tensor copy_;  // absent when the memory is the tensor's
  const std::byte* first_;
  std::size_t byte_count_;
};

// The elements of a new contiguous tensor, to be written by the host. On the CPU it is the tensor's memory;
// of a tensor elsewhere it is memory of the host, which is copied to the tensor at the end of the view's
// life: until then the tensor does not have the elements. The host writes all of them, since what the memory
// holds at first is unknown.
class WritableHostView {
 public:
  explicit WritableHostView(const Tensor& x);
  // Throws what the copy to the device throws, but not where another error ends the view's life.
  ~WritableHostView() noexcept(false) {
    if (copy_ && std::uncaught_exceptions() == errors_before_) put_back();
  }
  WritableHostView(const WritableHostView&) = delete;
  WritableHostView& operator=(const WritableHostView&) = delete;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(first_);
  }
  std::byte* bytes() const { return first_; }
  std::size_t byte_count() const { return byte_count_; }

 private:
  void put_back();

  Tensor target_, copy_;  // absent when the memory is the tensor's
  int errors_before_ = std::uncaught_exceptions();
  std::byte* first_;
  std::size_t byte_count_;
};

}  // namespace kiln
