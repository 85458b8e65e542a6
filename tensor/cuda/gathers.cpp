// Kernels on cards of the rows that read elements where indices say.
#include "tensor/cuda/gathers.h"

#include <string_view>
#include <utility>
#include <vector>

#include "tensor/cuda/advanced_index.h"
#include "tensor/cuda/backend.h"
#include "tensor/cuda/indices.h"
#include "tensor/cuda/kernels.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

// ---- Places ----------------------------------------------------------------------------------------------

using PlacesFn = IndexedPlaces (*)(const Attrs& attrs, Inputs inputs);

IndexedPlaces gather(const Attrs& attrs, Inputs inputs) {
  const Tensor &x = inputs[0], &index = inputs[1];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  return {IntDims(index.sizes()), strides_but(x, dim, index.rank()), {index_along(x, dim, index, 0, 1)}};
}

IndexedPlaces index_select(const Attrs& attrs, Inputs inputs) {
  const Tensor& x = inputs[0];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  // Of a 0-d tensor one element is taken, by an index of one.
  if (x.rank() == 0) {
    const Tensor index = Tensor::alias(inputs[1], Layout{{}, {}, inputs[1].offset()});
    return {{}, {}, {index_along(x, dim, index, dim, 1)}};
  }
  IntDims sizes(x.sizes());
  sizes[static_cast<std::size_t>(dim)] = inputs[1].numel().fixed();
  return {sizes, strides_but(x, dim, x.rank()), {index_along(x, dim, inputs[1], dim, 1)}};
}

IndexedPlaces embedding(const Attrs&, Inputs inputs) {
  const Tensor &index = inputs[0], &weight = inputs[1];
  IntDims sizes(index.sizes());
  sizes.push_back(weight.size(1).fixed());
  IntDims strides(sizes.size(), 0);
  strides.back() = weight.strides()[1].fixed();
  return {sizes, strides, {index_along(weight, 0, index, 0, 0)}};
}

IndexedPlaces index(const Attrs&, Inputs inputs) {
  return plan_of(inputs[0], inputs.subspan(1), {}, 1).places();
}

struct Row {
  int source = 0;
  PlacesFn places = nullptr;  // null: the row reads no such places
};
// By number of the row; those that are added with the kernels.
std::vector<Row>& rows() {
  static auto* const all = new std::vector<Row>(OpTable::get().ops().size());
  return *all;
}
const Row& row_of(const Op& op) {
  column();  // so that they are there
  return rows().at(static_cast<std::size_t>(op.id));
}

// ---- Kernels ---------------------------------------------------------------------------------------------

void run_gather(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  take(outputs[0], inputs[static_cast<std::size_t>(source_of(op))], places_of(op, attrs, inputs));
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

bool reads_indexed(const Op& op) { return row_of(op).places != nullptr; }
int source_of(const Op& op) { return row_of(op).source; }
IndexedPlaces places_of(const Op& op, const Attrs& attrs, Inputs inputs) {
  return row_of(op).places(attrs, inputs);
}

void add_gather_kernels(Kernels& kernels) {
  const auto add = [&](std::string_view name, const Row& row, Kernel kernel = {}) {
    rows().at(static_cast<std::size_t>(OpTable::get().at(name).id)) = row;
    kernel.run = run_gather;
    kernels.add(name, kernel);
  };
  add("gather", {0, gather});
  add("index_select", {0, index_select});
  add("embedding", {1, embedding});
  add("index", {0, index}, {.count = count_index, .run_counted = index_counted});
}

}  // namespace kiln::cuda
