// Kernels of the rows that copy elements: between dtypes and layouts, and of one number.
#include "tensor/complex_memory.h"
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/ops/rules.h"
#include "tensor/transfer.h"

namespace kiln::cpu {
namespace {

void copy_source(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  rules::check_fits(inputs[1], outputs[0].dtype(), op.name(), 1);
  copy(outputs[0], inputs[1]);
}

void zero(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  fill(outputs[0], Tensor::number(false));
}

void join_parts(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  copy(part_in_memory(outputs[0], 0), inputs[0]);
  copy(part_in_memory(outputs[0], 1), inputs[1]);
}

void copy_input(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  copy(outputs[0], inputs[0]);
}

}  // namespace

void add_copy_kernels(Column& column) {
  column.add("copy", {.run = copy_source, .is_direct = true});
  column.add("fill", {.run = copy_source, .is_direct = true});
  column.add("zero", {.run = zero, .is_direct = true});
  column.add("cast", copy_input);
  column.add("clone", copy_input);
  column.add("complex", join_parts);
  column.add("transfer", transfer_elements);
}

}  // namespace kiln::cpu
