#include "tensor/levels/wrapper.h"

#include "tensor/error.h"
#include "tensor/levels/level.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln {

void destroy_wrapper(Wrapper* wrapper) { delete wrapper; }

namespace {

const Wrapper* first_batched(const TensorImpl& x) {
  for (const TensorImpl* each = &x; each->wrapper; each = each->wrapper->value.impl()) {
    if (each->wrapper->kind == LevelKind::Batch) return each->wrapper.get();
  }
  return nullptr;
}

void check_live(const TensorImpl& x) {
  for (const TensorImpl* each = &x; each->wrapper; each = each->wrapper->value.impl()) {
    if (!levels::is_live(each->wrapper->level)) {
      levels::refuse_escaped(Tensor(Ref<TensorImpl>(const_cast<TensorImpl*>(each))));
    }
  }
}

Layout example_layout(const Layout& batch, const Layout& memory) {
  return {Dims(batch.sizes.begin() + 1, batch.sizes.end()),
          Dims(batch.strides.begin() + 1, batch.strides.end()), batch.offset - memory.offset};
}

}  // namespace

void check_readable(const TensorImpl& x) {
  check_live(x);
  const Wrapper* const batched = first_batched(x);
  if (batched == nullptr) return;
  const TensorType type{x.dtype, x.storage->device(), x.layout.sizes, x.is_number};
  const std::string transform(levels::transform_name(batched->level));
  throw OpError(ErrorKind::Value,
                "inside " + transform + " this " + to_string(type) +
                    " differs from example to example: item(), conditions and printing cannot read it",
                {0}, "choose with where(…) instead of a condition, and read values outside of " + transform);
}

void check_writable_memory(const TensorImpl&) {
  throw InternalError("a kernel was to write the memory of a tensor that belongs to a transform");
}

namespace levels {

Tensor wrap(LevelId level, LevelKind kind, Tensor value, Tensor tangent, bool captured,
            std::shared_ptr<const Layout> memory) {
  Layout layout = kind == LevelKind::Batch ? example_layout(value.layout(), memory ? *memory : value.layout())
                                           : value.layout();
  Tensor result = Tensor::from_storage(value.storage(), std::move(layout), value.dtype());
  result.impl()->is_number = value.is_number();
  result.impl()->wrapper.reset(
      new Wrapper{level, kind, captured, std::move(value), std::move(tangent), std::move(memory)});
  return result;
}

Tensor wrap_like(const Tensor& x, Tensor value, Tensor tangent) {
  const Wrapper& wrapper = *wrapper_of(x);
  return wrap(wrapper.level, wrapper.kind, std::move(value), std::move(tangent), wrapper.captured,
              wrapper.memory);
}

Tensor wrap_again(const Tensor& x) { return wrap_like(x, wrapper_of(x)->value, wrapper_of(x)->tangent); }

void become(const Tensor& x, const Tensor& y) {
  TensorImpl& impl = *x.impl();
  impl.dtype = y.dtype();
  impl.layout = y.layout();
  impl.contiguous = y.is_contiguous();
  impl.numel = y.numel();
  impl.storage = y.storage();
  if (SymbolicRun* run = SymbolicRun::current()) [[unlikely]]
    run->add(impl);
  if (!impl.wrapper) return;
  impl.wrapper->value = wrapper_of(y)->value;
  impl.wrapper->tangent = wrapper_of(y)->tangent;
  impl.wrapper->memory = wrapper_of(y)->memory;
}

bool is_batched(const Tensor& x) { return first_batched(*x.impl()) != nullptr; }

Tensor innermost(const Tensor& x) {
  Tensor value = x;
  while (const Wrapper* wrapper = wrapper_of(value)) value = Tensor(wrapper->value);
  return value;
}

void refuse_escaped(const Tensor& x) {
  if (sparse::is_sparse(x)) sparse::refuse_reading(x);
  const std::string transform(transform_name(wrapper_of(x)->level));
  throw OpError(
      ErrorKind::Value,
      "this " + to_string(x.type()) + " escaped: it was made inside a " + transform + " that has ended", {},
      "return it from the function, with has_aux=true beside the result, instead of storing it");
}

}  // namespace levels
}  // namespace kiln
