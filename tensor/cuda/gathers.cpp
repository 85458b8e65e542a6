// Kernels on cards of the rows that read elements where indices say.
#include "tensor/cuda/advanced_index.h"
#include "tensor/cuda/indices.h"
#include "tensor/cuda/kernels.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

// ---- Along one dimension ---------------------------------------------------------------------------------

void gather(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &index = inputs[1];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  take(outputs[0], x, {index.sizes(), strides_but(x, dim, index.rank()), {index_along(x, dim, index, 0, 1)}});
}

void index_select(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &result = outputs[0];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  // Of a 0-d tensor one element is taken, by an index of one.
  const Tensor index =
      x.rank() == 0 ? Tensor::alias(inputs[1], Layout{{}, {}, inputs[1].offset()}) : inputs[1];
  take(result, x, {result.sizes(), strides_but(x, dim, result.rank()), {index_along(x, dim, index, dim, 1)}});
}

void embedding(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &index = inputs[0], &weight = inputs[1], &result = outputs[0];
  IntDims strides(static_cast<std::size_t>(result.rank()), 0);
  strides.back() = weight.strides()[1].fixed();
  take(result, weight, {result.sizes(), strides, {index_along(weight, 0, index, 0, 0)}});
}

// ---- Advanced indexing -----------------------------------------------------------------------------------

void index(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  take(outputs[0], inputs[0], plan_of(inputs[0], inputs.subspan(1), {}, 1).places());
}

CountedOutputs count_index(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor& x = inputs[0];
  const Tensors offsets = offsets_of_masks(x, inputs.subspan(1), 1);
  return {{{x.dtype(), x.device(), plan_of(x, inputs.subspan(1), offsets, 1).sizes}}, offsets};
}

// Behind the indices come the places of each mask among them.
void index_counted(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  std::size_t indices = 0, masks = 0;
  while (1 + indices + masks < inputs.size()) masks += is_mask(inputs[1 + indices++]) ? 1 : 0;
  take(outputs[0], inputs[0],
       plan_of(inputs[0], inputs.subspan(1, indices), inputs.subspan(1 + indices), 1).places());
}

}  // namespace

void add_gather_kernels(Kernels& kernels) {
  kernels.add("gather", gather);
  kernels.add("index_select", index_select);
  kernels.add("embedding", embedding);
  kernels.add("index", {.run = index, .count = count_index, .run_counted = index_counted});
}

}  // namespace kiln::cuda
