// Owns the tensor: a counted handle to a typed, strided view of a storage, with its place on the tape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace kiln {

class Tensor;
struct ViewOrigin;    // tensor/view.h: the base of a view and the view ops that led to it
struct AutogradMeta;  // tensor/tape/meta.h: requires_grad, grad, grad_fn, hooks
void destroy_meta(AutogradMeta* meta);
void destroy_origin(ViewOrigin* origin);
struct Wrapper;  // tensor/levels/wrapper.h: what a transform's tensor stands for one level below
void destroy_wrapper(Wrapper* wrapper);
struct MetaDeleter {
  void operator()(AutogradMeta* meta) const { destroy_meta(meta); }
  void operator()(ViewOrigin* origin) const { destroy_origin(origin); }
  void operator()(Wrapper* wrapper) const { destroy_wrapper(wrapper); }
};

class TensorImpl final : public RefCounted {
 public:
  Ref<Storage> storage;
  Layout layout;
  Dim numel = 0;
  DType dtype = DType::F32;
  bool contiguous = true;  // row-major without gaps; kept in step with `layout`
  // A number of the host program as an operand: never raises the dtype within its own category.
  bool is_number = false;
  bool in_run = false;  // the call that is recorded over symbols knows it (tensor/symbolic_run.h)
  Dim symbol = 0;       // of a number that follows sizes and has no elements: which; 0: no such number
  std::unique_ptr<AutogradMeta, MetaDeleter> autograd;  // null until it matters
  std::unique_ptr<ViewOrigin, MetaDeleter> origin;      // null unless made by a view op
  std::unique_ptr<Wrapper, MetaDeleter> wrapper;        // null unless it belongs to a transform
};
void destroy(TensorImpl* impl);

// What reading and writing the memory of a transform's tensor comes to (tensor/levels/wrapper.cpp).
void check_readable(const TensorImpl& x);
void check_writable_memory(const TensorImpl& x);

// What a shape rule knows of a tensor.
struct TensorType {
  DType dtype = DType::F32;
  Device device;
  Dims sizes;
  bool is_number = false;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string to_string(const TensorType& type);  // "f32[3, 4]"

// Cheap to copy; copies are the same tensor. A default-made one is absent (an optional argument not given).
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  // New contiguous memory, uninitialized. Throws OpError (OutOfMemory, Overflow, Value).
  static Tensor empty(std::span<const Dim> sizes, DType dtype, Device device = default_device());
  // Likewise without the memory: it has a type, a layout and views, and its elements must not be asked for.
  static Tensor without_elements(std::span<const Dim> sizes, DType dtype, Device device);
  bool has_elements() const { return impl_->storage->data() != nullptr; }
  // Another view of the storage of `of`; no history, no origin.
  static Tensor alias(const Tensor& of, Layout layout);
  // Such a view that reads the bytes as elements of another dtype, which offset and strides count.
  static Tensor alias(const Tensor& of, Layout layout, DType dtype);
  static Tensor from_storage(Ref<Storage> storage, Layout layout, DType dtype);
  // 0-d host numbers (is_number): bool, i64, f64, c128 elements.
  static Tensor number(bool value);
  static Tensor number(std::int64_t value);
  static Tensor number(double value);
  static Tensor number(Complex<double> value);
  // An i64 number without elements, whose value is asked of the scope.
  static Tensor symbol(Dim symbol);
  // A count of elements that a derivative or a mean divides by: f64 where it is an int, else its symbol.
  static Tensor count(Dim count);

  explicit operator bool() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device(); }
  const Dims& sizes() const { return impl_->layout.sizes; }
  const Dims& strides() const { return impl_->layout.strides; }
  const Layout& layout() const { return impl_->layout; }
  Dim offset() const { return impl_->layout.offset; }
  Dim size(int dim) const { return impl_->layout.sizes[static_cast<std::size_t>(dim)]; }
  int rank() const { return impl_->layout.rank(); }
  Dim numel() const { return impl_->numel; }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_number() const { return impl_->is_number; }
  bool is_symbol() const { return !impl_->symbol.is_known(); }
  const Ref<Storage>& storage() const { return impl_->storage; }
  TensorType type() const { return {dtype(), device(), sizes(), is_number()}; }

  // The memory, for kernels; other code looks through a HostView (tensor/host_view.h). First element, for
  // reading. T is the element type (`ElementOf`).
  template <class T>
  const T* data() const {
    check_readable();
    return reinterpret_cast<const T*>(impl_->storage->data()) + impl_->layout.offset.hint();
  }
  // First element, for writing; sees to saved values first (Storage::writable_data).
  template <class T>
  T* writable() const {
    if (impl_->wrapper) [[unlikely]]
      check_writable_memory(*impl_);
    return reinterpret_cast<T*>(impl_->storage->writable_data()) + impl_->layout.offset.hint();
  }
  const std::byte* raw() const {
    check_readable();
    return impl_->storage->data() + byte_offset();
  }
  std::byte* raw_writable() const {
    if (impl_->wrapper) [[unlikely]]
      check_writable_memory(*impl_);
    return impl_->storage->writable_data() + byte_offset();
  }

  // Throws OpError (Value) when the elements cannot be read as they lie: they differ between the examples of
  // a vmap, or the transform they were made in has ended.
  void check_readable() const {
    if (impl_->wrapper) [[unlikely]]
      kiln::check_readable(*impl_);
  }

  // The only element as a host number; throws OpError (Value) when there is not exactly one, and (DType)
  // where a complex number is asked for as a real one.
  double item_float() const;
  Complex<double> item_complex() const;
  std::int64_t item_int() const;  // truncates floats toward zero; throws OpError (Overflow) when out of range
  bool item_bool() const;

 private:
  std::ptrdiff_t byte_offset() const {
    return impl_->layout.offset.hint() * static_cast<std::ptrdiff_t>(size_of(impl_->dtype));
  }
  Ref<TensorImpl> impl_;
};

using Tensors = SmallVector<Tensor, 2>;
using Inputs = std::span<const Tensor>;

// Do the two share any element (not just a storage)? Exact for layouts of the common kinds, else
// conservative.
bool overlaps(const Tensor& a, const Tensor& b);
bool shares_storage(const Tensor& a, const Tensor& b);

}  // namespace kiln
