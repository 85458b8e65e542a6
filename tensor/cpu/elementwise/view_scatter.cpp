// Kernels of the scatters that undo views: a copy with one view of it replaced.
#include <cstring>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln::cpu {
namespace {

// The view that the scatter undoes has the same attributes, and is what its row names.
void scatter_view(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  rules::check_fits(inputs[1], x.dtype(), op.name(), 1);
  if (!is_inplace(output, x)) copy(output, x);
  const Op& view = *op.lowering.as<lowering::Scatter>()->view;
  copy(Tensor::alias(output, view.view(output.layout(), attrs).front()), inputs[1]);
}

// Keeps where every element is stored, so that the view reads the same places: the whole storage is copied.
void as_strided_scatter(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  rules::check_fits(inputs[1], x.dtype(), op.name(), 1);
  const Layout piece = as_strided_layout(x.layout(), attrs).front();
  check_scattered_places(piece, static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype())));
  std::memcpy(output.storage()->writable_data(), x.storage()->data(), x.storage()->bytes());
  copy(Tensor::alias(output, piece), inputs[1]);
}

}  // namespace

void add_view_scatter_kernels(Column& column) {
  for (const char* const name : {"slice_scatter", "select_scatter", "diagonal_scatter"})
    column.add(name, {.run = scatter_view, .is_direct = true});
  column.add("as_strided_scatter", as_strided_scatter);
}

}  // namespace kiln::cpu
