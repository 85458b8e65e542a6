// Kernels on cards of the rows that put elements where indices say.
#include <span>

#include "tensor/backend.h"
#include "tensor/core_ops.h"
#include "tensor/cuda/advanced_index.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/indices.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/put.h"
#include "tensor/functions.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln::cuda {
namespace {

bool is_inplace(const Tensor& output, const Tensor& x) {
  return shares_storage(output, x) && output.layout() == x.layout();
}

// What is put, where memory that is written does not reach it.
Tensor away_from(const Tensor& source, const Tensor& output) {
  return shares_storage(source, output) ? laid_out(source) : source;
}

// One number in memory of the card, as many times as the loop has elements.
Tensor repeated_number(const Tensor& number, const Tensor& like, const IntDims& sizes) {
  const Tensor one = Tensor::empty(Dims{}, like.dtype(), like.device());
  copy_elements(one, Tensor::alias(number, Layout{{}, {}, number.offset()}));
  return Tensor::alias(one, broadcast_layout(one.layout(), Dims(sizes)));
}

// ---- Along one dimension ---------------------------------------------------------------------------------

// The elements of the source that an index of equally many dimensions reaches.
Tensor reached(const Op& op, Inputs inputs) {
  const Tensor &x = inputs[0], &index = inputs[1], &source = inputs[2];
  if (source.is_number()) {
    rules::check_fits(source, x.dtype(), op.name(), 2);
    return repeated_number(source, x, index.sizes());
  }
  Layout layout{index.sizes(), source.strides(), source.offset()};
  layout.strides.resize(layout.sizes.size(), 0);
  return Tensor::alias(source, layout);
}

// A place of the result for each element of the index.
Targets targets_along(const Tensor& output, int dim, const Tensor& index) {
  return Targets(
      output,
      {index.sizes(), strides_but(output, dim, index.rank()), {index_along(output, dim, index, 0, 1)}});
}

template <Put kPut>
void scatter_along(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  const Tensor source = away_from(reached(op, inputs), output);
  const Targets targets = targets_along(output, rules::dim_attr(attrs, "dim", x.rank()), inputs[1]);
  if (!is_inplace(output, x)) copy_elements(output, x);
  targets.put(source, kPut);
}

void scatter_reduce(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &index = inputs[1], &result = outputs[0];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  const bool include_self = attrs.get<bool>("include_self");
  const Put put = put_of(attrs);
  const Tensor source = reached(op, inputs);
  const Targets targets = targets_along(result, dim, index);
  copy_elements(result, x);
  if (!include_self) targets.put(repeated_number(put_identity(x.dtype(), put), x, index.sizes()), Put::Write);
  targets.put(source, put);
  if (!is_mean(attrs)) return;
  const Tensor counts = counts_of(x, dim, index, include_self);
  copy_elements(result, is_float(x.dtype()) ? result / counts : ops::floor_div(result, counts));
}

// ---- Slices along one dimension --------------------------------------------------------------------------

void index_add(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &index = inputs[1], &output = outputs[0];
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  const Tensor source = away_from(times_alpha(inputs[2], attrs), output);
  Columns columns{output.sizes(), output.strides(), source.strides(), 0};
  if (x.rank() > 0) columns.step = columns.take(dim);
  const Targets targets(output, {index.sizes(),
                                 IntDims(static_cast<std::size_t>(index.rank()), 0),
                                 {index_along(output, dim, index, 0, 1)}});
  if (!is_inplace(output, x)) copy_elements(output, x);
  targets.put(source, columns, Put::Add);
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
  const Tensor filled[] = {x, mask, repeated_number(value, output, {})};
  backend_of(output.device())
      .kernels()
      .of(*none.op())
      .run(*none.op(), none, Inputs(filled), {&output, 1}, stream);
}

// What is put, of the dtype of the output and with the sizes that the indices pick.
Tensor values_to_put(const Tensor& values, const IndexPlan& plan, const Tensor& output) {
  advanced_index::check_values(values.type(), Dims(plan.sizes));
  if (values.numel() == 1) return repeated_number(values, output, plan.sizes);
  const Tensor wide = Tensor::alias(values, broadcast_layout(values.layout(), Dims(plan.sizes)));
  if (values.dtype() == output.dtype() && !shares_storage(values, output)) return wide;
  const Tensor copied = Tensor::empty(Dims(plan.sizes), output.dtype(), output.device());
  copy_elements(copied, wide);
  return copied;
}

// The dimensions that are indexed stand together in the values, between those before and those after.
void put_values(const Targets& targets, const IndexPlan& plan, Tensor values, Put put) {
  if (values.numel() == 0) return;
  const auto first = static_cast<std::ptrdiff_t>(plan.before);
  const auto last = first + static_cast<std::ptrdiff_t>(plan.middle.size());
  const auto middle_strides = [&] {
    const IntDims strides(values.strides());
    return IntDims(std::span(strides.begin() + first, strides.begin() + last));
  };
  if (!one_step(plan.middle, middle_strides())) values = laid_out(values);
  Columns columns{plan.outer_sizes, plan.outer_strides, {}, *one_step(plan.middle, middle_strides())};
  const IntDims strides(values.strides());
  columns.source_strides.append(strides.begin(), strides.begin() + first);
  columns.source_strides.append(strides.begin() + last, strides.end());
  targets.put(values, columns, put);
}

void index_put(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream) {
  const Tensor &x = inputs[0], &values = inputs[1], &output = outputs[0];
  rules::check_fits(values, x.dtype(), op.name(), 1);
  const Inputs indices = inputs.subspan(2);
  if (values.sizes().empty() && fills_mask(x, indices, attrs, output))
    return fill_masked(x, indices[0], values, output, stream);
  const IndexPlan plan = plan_of(output, indices, offsets_of_masks(output, indices, 2), 2);
  const Tensor put = values_to_put(values, plan, output);
  const Targets targets(output, plan.middle_places());
  if (!is_inplace(output, x)) copy_elements(output, x);
  put_values(targets, plan, put, attrs.get<bool>("accumulate") ? Put::Add : Put::Write);
}

}  // namespace

void add_scatter_kernels(Kernels& kernels) {
  kernels.add("scatter", {.run = scatter_along<Put::Write>, .is_direct = true});
  kernels.add("scatter_add", {.run = scatter_along<Put::Add>, .is_direct = true});
  kernels.add("scatter_reduce", scatter_reduce);
  kernels.add("index_add", {.run = index_add, .is_direct = true});
  kernels.add("index_put", {.run = index_put, .is_direct = true});
}

}  // namespace kiln::cuda
