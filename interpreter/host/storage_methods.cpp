// Methods of tensors that change what they are a tensor of: their sizes, their storage, their history.
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "interpreter/host/arguments.h"
#include "interpreter/host/tables.h"
#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/levels/wrapper.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

void refuse_history(const kiln::Tensor& x, std::string_view method) {
  if (kiln::levels::wrapper_of(x) != nullptr) {
    throw kiln::OpError(kiln::ErrorKind::Value,
                        fmt::format("{}: a tensor inside a transform cannot change its storage", method), {0},
                        "make a new tensor of the shape that is wanted");
  }
  if (!kiln::requires_grad(x)) return;
  throw kiln::OpError(kiln::ErrorKind::Autograd,
                      fmt::format("{}: a tensor that requires grad cannot change its storage", method), {0},
                      "detach it first: x.detach()");
}

void set_layout(const kiln::Tensor& x, kiln::Layout layout, std::int64_t numel) {
  kiln::TensorImpl& impl = *x.impl();
  impl.contiguous = kiln::is_contiguous(layout);
  impl.layout = std::move(layout);
  impl.numel = numel;
}

// Larger memory with the old elements in front and zeros behind.
void grow(const kiln::Tensor& x, std::size_t bytes) {
  const kiln::Ref<kiln::Storage>& storage = x.storage();
  if (x.impl()->origin || storage->ref_count() > 1) {
    throw kiln::OpError(
        kiln::ErrorKind::Value,
        fmt::format("resize_: the storage has {} bytes, {} are needed, and other tensors share it",
                    storage->bytes(), bytes),
        {0}, "resize a copy: x.clone()");
  }
  kiln::Ref<kiln::Buffer> larger = kiln::Buffer::allocate(bytes, x.device());
  std::memcpy(larger->data(), storage->data(), storage->bytes());
  std::memset(larger->data() + storage->bytes(), 0, bytes - storage->bytes());
  storage->replace(std::move(larger));
}

Value resize(Interpreter&, Args a) {
  const kiln::Tensor x = a[0].as_tensor();
  refuse_history(x, "resize_");
  const auto& given = a[1].as<Tuple>().items;
  const kiln::Dims sizes =
      given.size() == 1 ? dims_argument(given.front(), "sizes") : dims_argument(a[1], "sizes");
  const std::int64_t numel = kiln::count_elements(sizes);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(numel) + static_cast<std::size_t>(x.offset()),
                             kiln::size_of(x.dtype()), &bytes)) {
    throw kiln::OpError(kiln::ErrorKind::Overflow, "resize_: the sizes are too large", {0});
  }
  if (bytes > x.storage()->bytes()) grow(x, bytes);
  set_layout(x, {sizes, kiln::contiguous_strides(sizes), x.offset()}, numel);
  return a[0];
}

Value set(Interpreter&, Args a) {
  const kiln::Tensor x = a[0].as_tensor();
  const kiln::Tensor source = tensor_argument(a[1], "source");
  refuse_history(x, "set_");
  refuse_history(source, "set_");
  if (x.dtype() != source.dtype()) {
    throw kiln::OpError(
        kiln::ErrorKind::DType,
        fmt::format("set_: {} cannot take the storage of {}", to_string(x.type()), to_string(source.type())),
        {0, 1}, fmt::format("convert first: source.to({})", kiln::name(x.dtype())));
  }
  x.impl()->storage = source.storage();
  x.impl()->origin = nullptr;
  set_layout(x, source.layout(), source.numel());
  return a[0];
}

Value detach_in_place(Interpreter&, Args a) {
  kiln::detach_in_place(a[0].as_tensor());
  return a[0];
}

Value retain_grad(Interpreter&, Args a) {
  kiln::retain_grad(a[0].as_tensor());
  return {};
}

constexpr NativeDef kMethods[] = {
    {"resize_(self, *sizes)",
     "Changes the sizes, keeping the elements in order; new ones are 0. Only a tensor that shares its "
     "storage with no other "
     "can grow.",
     resize},
    {"set_(self, source)", "Makes it a tensor of the storage of another one, with its sizes.", set},
    {"detach_(self)", "Cuts it off its history; returns it.", detach_in_place},
    {"retain_grad(self)", "Keeps the gradient of a tensor that is not a leaf in its `grad`, too.",
     retain_grad},
};

}  // namespace

std::span<const NativeDef> storage_methods() { return kMethods; }

}  // namespace kiln::interp
