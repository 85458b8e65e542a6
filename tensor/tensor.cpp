#include "tensor/tensor.h"

#include <new>

#include "tensor/error.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"
#include "tensor/memory.h"
#include "tensor/symbolic_run.h"

namespace kiln {
namespace {

Ref<TensorImpl> new_impl() {
  void* memory = memory::take_object(memory::Pool::Tensor, sizeof(TensorImpl));
  return Ref<TensorImpl>::made(new (memory) TensorImpl);
}

Tensor known_to_run(Ref<TensorImpl> impl) {
  if (SymbolicRun* run = SymbolicRun::current()) [[unlikely]]
    run->add(*impl);
  return Tensor(std::move(impl));
}

template <class MakeBuffer>
Tensor make_contiguous(std::span<const Dim> sizes, DType dtype, const MakeBuffer& make_buffer) {
  const Dim numel = count_elements(sizes);
  Ref<TensorImpl> impl = new_impl();
  impl->storage = Storage::create(make_buffer(static_cast<std::size_t>(numel.hint()) * size_of(dtype)));
  impl->layout.sizes.append(sizes.begin(), sizes.end());
  impl->layout.strides = contiguous_strides(sizes);
  impl->numel = numel;
  impl->dtype = dtype;
  return known_to_run(std::move(impl));
}

template <class T>
Tensor new_number(T value, DType dtype) {
  Ref<TensorImpl> impl = new_impl();
  impl->storage = Storage::create(Buffer::allocate(sizeof(T), Device{}));
  impl->numel = 1;
  impl->dtype = dtype;
  impl->is_number = true;
  *reinterpret_cast<T*>(impl->storage->data()) = value;
  return Tensor(std::move(impl));
}

void check_one_element(const Tensor& x) {
  if (x.numel() == 1) return;
  throw OpError(ErrorKind::Value,
                "item: a " + to_string(x.type()) + " has " + to_string(x.numel()) + " elements, not one",
                {0});
}

void check_real(const Tensor& x) {
  if (!is_complex(x.dtype())) return;
  throw OpError(ErrorKind::DType, "item: a " + to_string(x.type()) + " is no real number", {0},
                "take a part: z.real(), or its size: z.abs()");
}

template <class T>
double as_double(T value) {
  if constexpr (requires { to_float(value); }) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace

void destroy(TensorImpl* impl) {
  if (impl->in_run) [[unlikely]]
    SymbolicRun::forget(impl);
  impl->~TensorImpl();
  memory::give_object(memory::Pool::Tensor, impl);
}

std::string to_string(const TensorType& type) { return type_string(type.dtype, type.sizes); }

Tensor Tensor::empty(std::span<const Dim> sizes, DType dtype, Device device) {
  return make_contiguous(sizes, dtype, [&](std::size_t bytes) { return Buffer::allocate(bytes, device); });
}
Tensor Tensor::without_elements(std::span<const Dim> sizes, DType dtype, Device device) {
  return make_contiguous(sizes, dtype,
                         [&](std::size_t bytes) { return Buffer::without_memory(bytes, device); });
}

Tensor Tensor::alias(const Tensor& of, Layout layout) {
  return from_storage(of.storage(), std::move(layout), of.dtype());
}
Tensor Tensor::alias(const Tensor& of, Layout layout, DType dtype) {
  return from_storage(of.storage(), std::move(layout), dtype);
}

Tensor Tensor::from_storage(Ref<Storage> storage, Layout layout, DType dtype) {
  Ref<TensorImpl> impl = new_impl();
  impl->storage = std::move(storage);
  impl->numel = count_elements(layout.sizes);
  impl->contiguous = kiln::is_contiguous(layout);
  impl->layout = std::move(layout);
  impl->dtype = dtype;
  return known_to_run(std::move(impl));
}

Tensor Tensor::number(bool value) { return new_number(value, DType::Bool); }
Tensor Tensor::number(std::int64_t value) { return new_number(value, DType::I64); }
Tensor Tensor::number(double value) { return new_number(value, DType::F64); }
Tensor Tensor::number(Complex<double> value) { return new_number(value, DType::C128); }
Tensor Tensor::symbol(Dim symbol) {
  Tensor made = without_elements({}, DType::I64, Device{});
  made.impl()->is_number = true;
  made.impl()->symbol = symbol;
  if (SymbolicRun* run = SymbolicRun::current()) run->add(*made.impl());
  return made;
}
Tensor Tensor::count(Dim count) {
  return count.is_known() ? number(static_cast<double>(count.known())) : symbol(count);
}

double Tensor::item_float() const {
  levels::announce_read(*this);
  if (is_symbol()) return static_cast<double>(impl_->symbol.fixed());
  check_one_element(*this);
  check_real(*this);
  return visit_dtype(dtype(), [this]<class T>() { return as_double(*HostView(*this).as<T>()); });
}

Complex<double> Tensor::item_complex() const {
  if (!is_complex(dtype())) return {item_float(), 0};
  levels::announce_read(*this);
  check_one_element(*this);
  if (dtype() == DType::C128) return *HostView(*this).as<Complex<double>>();
  const auto value = *HostView(*this).as<Complex<float>>();
  return {value.real, value.imaginary};
}

std::int64_t Tensor::item_int() const {
  levels::announce_read(*this);
  if (is_symbol()) return impl_->symbol.fixed();
  check_one_element(*this);
  if (dtype() == DType::I64)
    return *HostView(*this).as<std::int64_t>();  // the only integers a double may not hold
  const double value = item_float();
  if (!(value >= -0x1p63 && value < 0x1p63)) {
    throw OpError(ErrorKind::Overflow, "item: " + std::to_string(value) + " does not fit an int", {0});
  }
  return static_cast<std::int64_t>(value);
}

bool Tensor::item_bool() const {
  levels::announce_read(*this);
  if (is_symbol()) return impl_->symbol != 0;
  check_one_element(*this);
  if (is_complex(dtype())) return item_complex() != Complex<double>{};
  return visit_dtype(dtype(), [this]<class T>() { return as_double(*HostView(*this).as<T>()) != 0; });
}

bool shares_storage(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

}  // namespace kiln
