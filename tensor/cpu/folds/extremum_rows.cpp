// Kernels of the rows that find where the greatest or least element is.
#include <utility>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/extremum.h"
#include "tensor/cpu/folds/rows.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

// Sequences that run along memory, and those of too few neighbours for vectors, are laid out as rows; others
// are searched side by side.
void find_along(const Extrema& results, const Tensor& x, int dim, bool greatest) {
  SequenceShape shape(x, dim);
  const std::int64_t bytes = shape.inner * static_cast<std::int64_t>(size_of(x.dtype()));
  const bool along_memory = x.rank() > 0 && x.strides()[static_cast<std::size_t>(dim)] == 1;
  if (along_memory || bytes < kNarrowestColumns) {
    shape.outer *= std::exchange(shape.inner, 1);
    return find_extrema(results, rows_along(x, dim), shape, greatest);
  }
  find_extrema(results, dense(x, x.dtype()), shape, greatest);
}

template <bool kGreatest>
void indices(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const IntDims dims = ops::reduced_dims(attrs, x.rank());
  const bool along_one = attrs.has("dim") || x.rank() == 0;
  const Tensor from = along_one ? x : with_sizes(dense(x, x.dtype()), IntDims{x.numel()});
  const int dim = along_one && !dims.empty() ? static_cast<int>(dims[0]) : 0;
  find_along({outputs[0]}, from, dim, kGreatest);
}

template <bool kGreatest>
void values(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const IntDims dims = ops::reduced_dims(attrs, inputs[0].rank());
  const int dim = dims.empty() ? 0 : static_cast<int>(dims[0]);
  find_along({.places = outputs[1], .values = outputs[0]}, inputs[0], dim, kGreatest);
}

}  // namespace

void add_extremum_kernels(Column& column) {
  column.add("max.dim", values<true>);
  column.add("min.dim", values<false>);
  column.add("argmax", indices<true>);
  column.add("argmin", indices<false>);
}

}  // namespace kiln::cpu
