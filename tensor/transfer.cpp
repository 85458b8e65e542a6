#include "tensor/transfer.h"

#include "tensor/core_ops.h"
#include "tensor/functions.h"

namespace kiln {

void transfer(const Tensor& target, const Tensor& source) {
  // Elements are brought in order where they are, so that one copy moves them.
  static const Attrs clone(core_ops().clone);
  const Tensor ordered = source.is_contiguous() ? source : run_eager(*clone.op(), {&source, 1}, clone)[0];
  const std::size_t item = size_of(target.dtype());
  target.raw_writable();  // memory that no saved value holds, and one write more
  copy_bytes(*target.storage()->buffer(), static_cast<std::size_t>(target.offset()) * item,
             *ordered.storage()->buffer(), static_cast<std::size_t>(ordered.offset()) * item,
             static_cast<std::size_t>(target.numel()) * item);
}

void transfer_elements(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  transfer(outputs[0], inputs[0]);
}

}  // namespace kiln
