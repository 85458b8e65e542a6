// Kernels of advanced indexing and nonzero. Where masks are among the indices their elements are counted
// first.
#include "tensor/ops/advanced_index.h"

#include "tensor/core_ops.h"
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/moves/places.h"
#include "tensor/cpu/order/nonzero.h"
#include "tensor/functions.h"
#include "tensor/ops/rules.h"

namespace kiln::cpu {
namespace {

using namespace advanced_index;

// ---- Places ----------------------------------------------------------------------------------------------

struct Plan {
  Order order;
  IntDims sizes;  // of the result
  Places places;
};

bool is_mask(const Tensor& index) { return index && index.dtype() == DType::Bool && !index.is_number(); }

// What an index adds to the places, times `step`.
struct Part {
  Tensor offsets;
  std::int64_t step;
};
Part part_of(const Tensor& x, const Tensor& index, const Item& item) {
  const std::span<const std::int64_t> strides = ints(x.strides());
  const auto dim = static_cast<std::size_t>(item.first);
  if (is_mask(index))
    return {true_offsets(index, strides.subspan(dim, static_cast<std::size_t>(item.span))), 1};
  return {checked_index(index, x.sizes()[dim], item.first, true, item.operand), strides[dim]};
}

Tensor in_elements(const Part& part) {
  return part.step == 1 ? part.offsets : part.offsets * Tensor::number(part.step);
}

// The only index is there as it is; several make places together.
Part together(const std::vector<Part>& parts) {
  if (parts.empty()) return {Tensor::number(std::int64_t{0}), 1};
  if (parts.size() == 1) return parts[0];
  Part all{in_elements(parts[0]), 1};
  for (std::size_t i = 1; i < parts.size(); ++i) all.offsets = all.offsets + in_elements(parts[i]);
  return all;
}

Places places_of(const Tensor& x, const Order& order, const Part& all) {
  Layout ordered;
  for (const int d : order.dims) {
    ordered.sizes.push_back(x.size(d));
    ordered.strides.push_back(x.strides()[static_cast<std::size_t>(d)]);
  }
  return places_around(ordered, order.before, order.before + order.indexed, all.offsets, all.step);
}

// `operand`: the number of the first index among the op's inputs.
Plan plan_of(const Tensor& x, Inputs indices, int operand) {
  std::vector<TensorType> types;
  for (const Tensor& index : indices) types.push_back(index ? index.type() : kAbsent);
  std::vector<Item> items = items_of(x.type(), types, operand);
  std::vector<Part> parts;
  for (Item& item : items) {
    parts.push_back(part_of(x, indices[static_cast<std::size_t>(item.operand - operand)], item));
    item.sizes = parts.back().offsets.sizes();
  }
  Plan plan{order_of(items, x.rank()), {}, {}};
  plan.sizes = result_sizes(x.sizes(), plan.order, broadcast_items(items));
  plan.places = places_of(x, plan.order, together(parts));
  return plan;
}

// ---- index -----------------------------------------------------------------------------------------------

void index(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  take(outputs[0], inputs[0], plan_of(inputs[0], inputs.subspan(1), 1).places);
}

std::unique_ptr<const GatherReader> indexed_reader(Inputs inputs, const Attrs&) {
  return places_reader(inputs[0], plan_of(inputs[0], inputs.subspan(1), 1).places);
}

// Masks: the work is the places that the indices make of x, and how far they are apart.
CountedOutputs count_index(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor& x = inputs[0];
  const Plan plan = plan_of(x, inputs.subspan(1), 1);
  return {{{x.dtype(), x.device(), plan.sizes}}, {plan.places.middle, Tensor::number(plan.places.step)}};
}

void index_counted(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const Inputs indices = inputs.subspan(1, inputs.size() - 3);
  const Tensor &places = inputs[inputs.size() - 2], &step = inputs.back();
  std::vector<TensorType> types;
  for (const Tensor& each : indices) types.push_back(each ? each.type() : kAbsent);
  const Order order = order_of(items_of(x.type(), types, 1), x.rank());
  take(outputs[0], x, places_of(x, order, {places, step.item_int()}));
}

// ---- index_put -------------------------------------------------------------------------------------------

// One value for all that a mask of all dimensions picks needs no places.
bool fills_mask(const Tensor& x, Inputs indices, const Attrs& attrs, const Tensor& output) {
  return indices.size() == 1 && is_mask(indices[0]) && indices[0].sizes() == x.sizes() &&
         !attrs.get<bool>("accumulate") && x.dtype() == output.dtype() && !shares_storage(indices[0], output);
}

void fill_masked(const Tensor& x, const Tensor& mask, const Tensor& value, const Tensor& output,
                 Stream& stream) {
  static const Attrs none(core_ops().masked_fill);
  const Tensor filled[] = {x, mask, contiguous_copy(value, output.dtype())};
  column().of(*none.op()).run(*none.op(), none, Inputs(filled), {&output, 1}, stream);
}

// What is put, in the dtype of the output: one for each place or one for all.
Tensor values_to_put(const Tensor& values, const IntDims& sizes, const Tensor& output) {
  const bool one = values.numel() == 1;
  const bool ready = (one || (values.sizes() == sizes && values.is_contiguous())) &&
                     values.dtype() == output.dtype() && !shares_storage(values, output);
  if (ready) return values;
  const Tensor copied = Tensor::empty(one ? IntDims(values.sizes()) : sizes, output.dtype(), output.device());
  copy(copied, values);
  return copied;
}

// Integers are read while values are put.
Tensors apart_from(const Tensor& output, Inputs indices) {
  Tensors apart(indices.begin(), indices.end());
  for (Tensor& each : apart)
    if (each && !is_mask(each)) each = away_from(each, output);
  return apart;
}

void index_put(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream) {
  const Tensor &x = inputs[0], &values = inputs[1], &output = outputs[0];
  rules::check_fits(values, x.dtype(), op.name(), 1);
  const Inputs indices = inputs.subspan(2);
  if (values.sizes().empty() && fills_mask(x, indices, attrs, output))
    return fill_masked(x, indices[0], values, output, stream);
  if (!is_inplace(output, x)) copy(output, x);
  const Plan plan = plan_of(output, apart_from(output, indices), 2);
  check_values(values.type(), plan.sizes);
  put(output, values_to_put(values, plan.sizes, output), plan.places,
      attrs.get<bool>("accumulate") ? Put::Add : Put::Write);
}

// ---- nonzero ---------------------------------------------------------------------------------------------

CountedOutputs count_nonzero(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const TrueElements found(inputs[0]);
  return {{{DType::I64, inputs[0].device(), IntDims{found.count(), inputs[0].rank()}}},
          {found.flags(), found.before()}};
}
void nonzero_places(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  nonzero(outputs[0], inputs[0].sizes(), TrueElements(inputs[1], inputs[2]));
}

}  // namespace

void add_advanced_index_kernels(Column& column) {
  column.add("index", {.run = index, .count = count_index, .run_counted = index_counted});
  column.add_reader("index", indexed_reader);
  column.add("index_put", {.run = index_put, .is_direct = true});
  column.add("nonzero", {.count = count_nonzero, .run_counted = nonzero_places});
}

}  // namespace kiln::cpu
