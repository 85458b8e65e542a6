// Kernels of the rows that pick and place along one dimension.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/moves/places.h"
#include "tensor/cpu/moves/scatter.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln::cpu {

Tensor repeated_number(const Tensor& number, DType dtype, const IntDims& sizes) {
  const Tensor element = number.dtype() == dtype ? number : contiguous_copy(number, dtype);
  return Tensor::alias(element, broadcast_layout(element.layout(), sizes));
}

Tensor scatter_source(const Op& op, Inputs inputs) {
  const Tensor& source = inputs[2];
  if (!source.is_number()) return source;
  rules::check_fits(source, inputs[0].dtype(), op.name(), 2);
  return repeated_number(source, inputs[0].dtype(), inputs[1].sizes());
}

namespace {

int dim_of(const Tensor& x, const Attrs& attrs) { return rules::dim_attr(attrs, "dim", x.rank()); }
Tensor index_along(const Tensor& index, const Tensor& x, int dim) {
  return checked_index(index, size_along(x, dim), dim, false, 1);
}

// ---- gather, index_select, embedding ---------------------------------------------------------------------

void gather_along(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const int dim = dim_of(inputs[0], attrs);
  gather(outputs[0], inputs[0], dim, index_along(inputs[1], inputs[0], dim));
}
std::unique_ptr<const GatherReader> gathered_reader(Inputs inputs, const Attrs& attrs) {
  const int dim = dim_of(inputs[0], attrs);
  return along_reader(inputs[0], dim, index_along(inputs[1], inputs[0], dim));
}

// x and places of it.
struct PlacesOf {
  Tensor x;
  Places places;
};
PlacesOf selected(Inputs inputs, const Attrs& attrs) {
  const int dim = dim_of(inputs[0], attrs);
  return {inputs[0], places_along(inputs[0], dim, index_along(inputs[1], inputs[0], dim))};
}
PlacesOf named_rows(Inputs inputs, const Attrs&) {
  const Tensor& weight = inputs[1];
  return {weight, places_along(weight, 0, checked_index(inputs[0], weight.size(0), 0, false, 0))};
}

template <PlacesOf (*kPlaces)(Inputs, const Attrs&)>
void take_places(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const PlacesOf taken = kPlaces(inputs, attrs);
  take(outputs[0], taken.x, taken.places);
}
template <PlacesOf (*kPlaces)(Inputs, const Attrs&)>
std::unique_ptr<const GatherReader> read_places(Inputs inputs, const Attrs& attrs) {
  PlacesOf taken = kPlaces(inputs, attrs);
  return places_reader(std::move(taken.x), std::move(taken.places));
}

// ---- scatter, scatter_add, index_add ---------------------------------------------------------------------

template <Put kPut>
void scatter_along(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  const int dim = dim_of(x, attrs);
  const Tensor index = index_along(inputs[1], x, dim);
  const Tensor source = away_from(scatter_source(op, inputs), output);
  if (!is_inplace(output, x)) copy(output, x);
  scatter(output, dim, away_from(index, output), source, kPut);
}

void add_slices(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &output = outputs[0];
  const int dim = dim_of(x, attrs);
  const Tensor index = index_along(inputs[1], x, dim);
  const Tensor source = times_alpha(inputs[2], attrs);
  const Tensor values =
      source.is_contiguous() ? away_from(source, output) : contiguous_copy(source, x.dtype());
  if (!is_inplace(output, x)) copy(output, x);
  if (x.rank() == 1) return scatter(output, dim, away_from(index, output), values, Put::Add);
  put(output, values, places_along(output, dim, index), Put::Add);
}

}  // namespace

void add_index_kernels(Column& column) {
  column.add("gather", gather_along);
  column.add_reader("gather", gathered_reader);
  column.add("index_select", take_places<selected>);
  column.add_reader("index_select", read_places<selected>);
  column.add("embedding", take_places<named_rows>);
  column.add_reader("embedding", read_places<named_rows>);
  column.add("scatter", {.run = scatter_along<Put::Write>, .is_direct = true});
  column.add("scatter_add", {.run = scatter_along<Put::Add>, .is_direct = true});
  column.add("index_add", {.run = add_slices, .is_direct = true});
}

}  // namespace kiln::cpu
