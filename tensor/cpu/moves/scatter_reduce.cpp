// The kernel of scatter_reduce.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/moves/scatter.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln::cpu {
namespace {

void scatter_reduce(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &result = outputs[0];
  const Tensor source = scatter_source(op, inputs);
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  const Tensor index = checked_index(inputs[1], size_along(x, dim), dim, false, 1);
  const bool include_self = attrs.get<bool>("include_self");
  const Put put = put_of(attrs);
  copy(result, x);
  if (!include_self) {
    const Tensor identity = repeated_number(put_identity(x.dtype(), put), x.dtype(), index.sizes());
    scatter(result, dim, index, identity, Put::Write);
  }
  scatter(result, dim, index, source, put);
  if (!is_mean(attrs)) return;
  const Tensor counts = counts_of(x, dim, index, include_self);
  copy(result, is_float(x.dtype()) ? result / counts : ops::floor_div(result, counts));
}

}  // namespace

void add_scatter_reduce_kernels(Column& column) { column.add("scatter_reduce", scatter_reduce); }

}  // namespace kiln::cpu
