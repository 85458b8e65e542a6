// Kernels on cards of the rows that move elements whole: tensors joined, reversed, padded, and copies with a
// view replaced. Each is a few copies between views, so that none has a program of its own.
#include <algorithm>
#include <string_view>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/staging.h"
#include "tensor/integers.h"
#include "tensor/lowering.h"
#include "tensor/ops/joining.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln::cuda {
namespace {

// ---- cat, stack ------------------------------------------------------------------------------------------

void cat(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  ops::join_along(outputs[0], inputs, attrs, copy_elements);
}

void stack(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  ops::stack_along(outputs[0], inputs, attrs, copy_elements);
}

// ---- flip, constant_pad ----------------------------------------------------------------------------------

// The elements are those of a view from the last one backwards.
void flip(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const Dims& dims = attrs.get<Dims>("dims");
  if (x.numel() == 0 || x.rank() == 0 || dims.empty()) return copy_elements(outputs[0], x);
  Layout from = x.layout();
  for (const Dim each : wrap_dims(dims, x.rank(), op.name())) {
    const std::size_t dim = as_index(each.fixed());
    from.offset += (from.sizes[dim] - 1) * from.strides[dim];
    from.strides[dim] = -from.strides[dim];
  }
  copy_elements(outputs[0], Tensor::alias(x, from));
}

void constant_pad(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &result = outputs[0];
  const IntDims& pads = attrs.get<Dims>("pad");
  const Tensor value = rules::number_attr(attrs.at("value"));
  rules::check_fits(value, x.dtype(), "pad");
  fill_elements(result, value);
  Layout from = x.layout(), to = result.layout();
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    const Margin margin = margin_of(pads, from.sizes.size(), d);
    const std::int64_t before = margin.before.fixed(), after = margin.after.fixed();
    const std::int64_t length = std::max<std::int64_t>(
        x.sizes()[d].fixed() + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0), 0);
    from.sizes[d] = to.sizes[d] = length;
    from.offset += std::max<std::int64_t>(-before, 0) * from.strides[d];
    to.offset += std::max<std::int64_t>(before, 0) * to.strides[d];
  }
  copy_elements(Tensor::alias(result, to), Tensor::alias(x, from));
}

// ---- Views that are replaced -----------------------------------------------------------------------------

bool is_inplace(const Tensor& output, const Tensor& x) {
  return shares_storage(output, x) && output.layout() == x.layout();
}

// The view that the scatter undoes has the same attributes, and is what its row names.
void scatter_view(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  rules::check_fits(inputs[1], x.dtype(), op.name(), 1);
  if (!is_inplace(output, x)) copy_elements(output, x);
  const Op& view = *op.lowering.as<lowering::Scatter>()->view;
  copy_elements(Tensor::alias(output, view.view(output.layout(), attrs).front()), inputs[1]);
}

// Keeps where every element is stored, so that the view reads the same places: the whole storage is copied.
void as_strided_scatter(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  rules::check_fits(inputs[1], x.dtype(), op.name(), 1);
  const Layout piece = as_strided_layout(x.layout(), attrs).front();
  check_scattered_places(piece, static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype())));
  copy({output.device(), output.storage()->writable_data()}, {x.device(), x.storage()->data()},
       x.storage()->bytes());
  copy_elements(Tensor::alias(output, piece), inputs[1]);
}

}  // namespace

void add_move_kernels(Kernels& kernels) {
  kernels.add("cat", cat);
  kernels.add("stack", stack);
  kernels.add("flip", flip);
  kernels.add("constant_pad", constant_pad);
  for (const char* const name : {"slice_scatter", "select_scatter", "diagonal_scatter"})
    kernels.add(name, {.run = scatter_view, .is_direct = true});
  kernels.add("as_strided_scatter", as_strided_scatter);
}

}  // namespace kiln::cuda
