// Writes of storage: a tensor gets the storage of another one. The tape does not record them.
#include <string>

#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/levels/wrapper.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln {

const Op& set_op() {
  static const Op kRow{
      .signature = Signature::parse("set(x: tensor, source: tensor)"),
      .family = "shape",
      .documentation = "`set_` makes `x` a tensor of the storage of `source`, with its sizes.",
      .example = "",
      .infer = [](std::span<const TensorType> inputs, const Attrs&) -> std::vector<TensorType> {
        return {inputs[1]};
      },
      .lowering = Lowering::Library,
      .traits = kInplace | kStorageWrite};
  return kRow;
}

namespace tape {

void check_storage_write(std::string_view name, const Tensor& x) {
  if (levels::wrapper_of(x) != nullptr) {
    throw OpError(ErrorKind::Value,
                  std::string(name) + ": a tensor inside a transform cannot change its storage", {0},
                  "make a new tensor of the shape that is wanted");
  }
  if (!requires_grad(x)) return;
  throw OpError(ErrorKind::Autograd,
                std::string(name) + ": a tensor that requires grad cannot change its storage", {0},
                "detach it first: x.detach()");
}

Tensor take_storage(const Tensor& x, const Tensor& source) {
  check_storage_write("set_", x);
  check_storage_write("set_", source);
  TensorImpl& impl = *x.impl();
  // The hidden tensor that x was goes along, so that views of it are known to have been left behind.
  if (impl.origin && impl.origin->of_itself) base_of(*impl.origin).impl()->storage = source.storage();
  impl.origin = nullptr;
  levels::become(x, source);
  return x;
}

}  // namespace tape
}  // namespace kiln
