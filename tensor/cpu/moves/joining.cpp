// Kernels of the rows that put tensors together or reverse them.
#include "tensor/ops/joining.h"
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/flip.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/integers.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/shape.h"

namespace kiln::cpu {
namespace {

// ---- cat, stack ------------------------------------------------------------------------------------------

void cat(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  ops::join_along(outputs[0], inputs, attrs, copy);
}

void stack(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  ops::stack_along(outputs[0], inputs, attrs, copy);
}

std::unique_ptr<const GatherReader> joined_reader(const TensorType& type, Inputs inputs, const Attrs& attrs,
                                                  bool keeps_empty) {
  const int dim = rules::dim_attr(attrs, "dim", static_cast<int>(type.sizes.size()));
  std::vector<Segment> segments;
  for (const Tensor& input : inputs) {
    if (keeps_empty || !is_skipped_by_cat(input.sizes()))
      segments.push_back(segment_of(input, as_index(dim)));
  }
  return segments_reader(std::move(segments), Tensor::empty(IntDims{}, type.dtype, type.device));
}
std::vector<TensorType> types_of(Inputs inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  return types;
}
std::unique_ptr<const GatherReader> cat_reader(Inputs inputs, const Attrs& attrs) {
  return joined_reader(attrs.op()->infer(types_of(inputs), attrs)[0], inputs, attrs, false);
}
std::unique_ptr<const GatherReader> stack_reader(Inputs inputs, const Attrs& attrs) {
  return joined_reader(attrs.op()->infer(types_of(inputs), attrs)[0], inputs, attrs, true);
}

// ---- flip ------------------------------------------------------------------------------------------------

IntDims flipped_dims(const Tensor& x, const Attrs& attrs) {
  const Dims& dims = attrs.get<Dims>("dims");
  return dims.empty() ? dims : wrap_dims(dims, x.rank(), attrs.op()->name());
}
void flip_along(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  flip(outputs[0], inputs[0], flipped_dims(inputs[0], attrs));
}
std::unique_ptr<const GatherReader> flipped_reader(Inputs inputs, const Attrs& attrs) {
  return reversed_reader(inputs[0], flipped_dims(inputs[0], attrs));
}

}  // namespace

void add_joining_kernels(Column& column) {
  column.add("cat", cat);
  column.add_reader("cat", cat_reader);
  column.add("stack", stack);
  column.add_reader("stack", stack_reader);
  column.add("flip", flip_along);
  column.add_reader("flip", flipped_reader);
}

}  // namespace kiln::cpu
