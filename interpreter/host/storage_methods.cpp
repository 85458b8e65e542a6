// Methods of tensors that change what they are a tensor of: their sizes, their storage, their history.
#include "interpreter/vm/storage_methods.h"

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/tables.h"
#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

// May another tensor see the storage of x? The hidden tensor that x was before `t_` does not count.
bool is_shared(const kiln::Tensor& x) {
  const kiln::ViewOrigin* origin = x.impl()->origin.get();
  const std::uint32_t own = origin != nullptr && origin->of_itself ? 2 : 1;
  return kiln::is_view(x) || x.storage()->ref_count() > own;
}

kiln::Dims sizes_of(std::span<const Value> given) {
  if (given.size() == 1) return dims_argument(given.front(), "sizes");
  return dims_argument(tuple_value({given.begin(), given.end()}), "sizes");
}

// Gives x a new storage of its own, with its elements in front and zeros behind.
void grow(const kiln::Tensor& x, const kiln::Dims& sizes) {
  const std::int64_t numel = kiln::count_elements(sizes);
  const auto held = static_cast<std::int64_t>(x.storage()->bytes() / kiln::size_of(x.dtype())) - x.offset();
  const kiln::Tensor parts[] = {
      kiln::ops::as_strided(x, kiln::Dims{held}, kiln::Dims{1}, x.offset()),
      kiln::ops::zeros(kiln::Dims{numel - held}, x.dtype(), x.device()),
  };
  const kiln::Tensor inputs[] = {x, kiln::ops::view(kiln::ops::cat(parts, 0), sizes)};
  kiln::bind_inplace(kiln::set_op(), inputs, kiln::Attrs(kiln::set_op()));
}

// Elements keep their places in memory.
Value resize(Interpreter& interpreter, Args a) {
  const kiln::Tensor x = a[0].as_tensor();
  kiln::tape::check_storage_write("resize_", x);
  const kiln::Dims sizes = sizes_of(a[1].as<Tuple>().items);
  const std::int64_t numel = kiln::count_elements(sizes);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(numel) + static_cast<std::size_t>(x.offset()),
                             kiln::size_of(x.dtype()), &bytes)) {
    throw kiln::OpError(kiln::ErrorKind::Overflow, "resize_: the sizes are too large", {0});
  }
  if (grows_shared(x, a[1].as<Tuple>().items)) {
    interpreter.impl().vm.drop_dead();
    if (is_shared(x)) {
      throw kiln::OpError(
          kiln::ErrorKind::Value,
          fmt::format("resize_: this {} cannot grow to {} elements, since other tensors share its storage",
                      to_string(x.type()), numel),
          {0}, "resize a copy: x.clone()");
    }
  }
  if (bytes > x.storage()->bytes()) {
    grow(x, sizes);
    return a[0];
  }
  static const kiln::Op& kAsStrided = kiln::core_ops().as_strided;
  kiln::Attrs attrs(kAsStrided);
  attrs.set("size", sizes).set("stride", kiln::contiguous_strides(sizes)).set("storage_offset", x.offset());
  kiln::bind_inplace(kAsStrided, {&x, 1}, attrs);
  return a[0];
}

void check_same_dtype(const kiln::Tensor& x, const kiln::Tensor& source) {
  if (x.dtype() == source.dtype()) return;
  throw kiln::OpError(
      kiln::ErrorKind::DType,
      fmt::format("set_: {} cannot take the storage of {}", to_string(x.type()), to_string(source.type())),
      {0, 1}, fmt::format("convert first: source.to({})", kiln::name(x.dtype())));
}

Value set(Interpreter&, Args a) {
  const kiln::Tensor inputs[] = {a[0].as_tensor(), tensor_argument(a[1], "source")};
  check_same_dtype(inputs[0], inputs[1]);
  kiln::bind_inplace(kiln::set_op(), inputs, kiln::Attrs(kiln::set_op()));
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

constexpr NativeDef kStorageMethodsMethods[] = {
    {"resize_(self, *sizes)",
     "Changes the sizes, keeping the elements in order; new ones are 0. Only a tensor that shares its "
     "storage with no other "
     "that is still needed can grow.",
     resize},
    {"set_(self, source)", "Makes it a tensor of the storage of another one, with its sizes.", set},
    {"detach_(self)", "Cuts it off its history; returns it.", detach_in_place},
    {"retain_grad(self)", "Keeps the gradient of a tensor that is not a leaf in its `grad`, too.",
     retain_grad},
};

}  // namespace

bool host::grows(const kiln::Tensor& x, std::span<const Value> sizes) {
  return kiln::count_elements(sizes_of(sizes)) > x.numel();
}
bool host::grows_shared(const kiln::Tensor& x, std::span<const Value> sizes) {
  return grows(x, sizes) && is_shared(x);
}

std::span<const NativeDef> storage_methods() { return kStorageMethodsMethods; }

}  // namespace kiln::interp
