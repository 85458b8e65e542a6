// Kernels of the pools and their adjoints.
#include "tensor/ops/pooling.h"

#include "tensor/cpu/backend.h"
#include "tensor/cpu/convolution/pooling.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

// The windows along one dimension of planes.
Windows windows_along(const IntDims& planes, std::size_t dim, const Attrs& attrs) {
  const WindowAxis axis = ops::window_axis(planes, dim, attrs);
  Windows windows(axis.count);
  windows.step = axis.dilation;
  for (std::int64_t i = 0; i < axis.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Window window = window_at(axis, i);
    windows.begin[at] = window.begin;
    windows.end[at] = window.end;
    windows.weight[at] = window.weight;
  }
  return windows;
}
struct PlaneWindows {
  Windows rows, columns;
  PlaneWindows(const IntDims& planes, const Attrs& attrs)
      : rows(windows_along(planes, 0, attrs)), columns(windows_along(planes, 1, attrs)) {}
};

// ---- Averages: f16 and bf16 are summed in f32 ------------------------------------------------------------

void average(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const Tensor y = computed_in(outputs[0], ops::compute_dtype(outputs[0].dtype()));
  const PlaneWindows windows(ops::plane_sizes(in[0].type(), attrs), attrs);
  average_windows(dense(in[0], y.dtype()), windows.rows, windows.columns, ops::average_divisor(attrs), y);
  finish(outputs[0], y);
}

void spread(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const Tensor x = computed_in(outputs[0], ops::compute_dtype(outputs[0].dtype()));
  const PlaneWindows windows(attrs.get<Dims>("sizes"), attrs);
  spread_windows(dense(in[0], x.dtype()), windows.rows, windows.columns, ops::average_divisor(attrs), x);
  finish(outputs[0], x);
}

// ---- Maxima ----------------------------------------------------------------------------------------------

void greatest(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const PlaneWindows windows(ops::plane_sizes(in[0].type(), attrs), attrs);
  max_windows(dense(in[0], in[0].dtype()), windows.rows, windows.columns, outputs[0], outputs[1]);
}

void add_at_places(const Op&, const Attrs&, Inputs in, Outputs outputs, Stream&) {
  const Tensor x = computed_in(outputs[0], ops::compute_dtype(outputs[0].dtype()));
  const auto plane = [](const Tensor& each) {
    return each.size(each.rank() - 1) * each.size(each.rank() - 2);
  };
  const Tensor indices = checked_index(in[1], plane(x), in[1].rank() - 1, false, 1);
  const auto planes = [&](const Tensor& each, std::int64_t count) {
    return with_sizes(each, IntDims{count == 0 ? 0 : each.numel() / count, count});
  };
  if (x.numel() > 0) {
    const std::int64_t count = plane(in[0]);
    add_at_indices(planes(dense(in[0], x.dtype()), count), planes(dense(indices, DType::I64), count),
                   planes(x, plane(x)));
  }
  finish(outputs[0], x);
}

}  // namespace

void add_pooling_kernels(Column& column) {
  for (const char* const name : {"avg_pool2d", "adaptive_avg_pool2d"}) column.add(name, average);
  for (const char* const name : {"avg_pool2d_backward", "adaptive_avg_pool2d_backward"})
    column.add(name, spread);
  for (const char* const name : {"max_pool2d_with_indices", "adaptive_max_pool2d_with_indices"})
    column.add(name, greatest);
  column.add("max_pool2d_backward", add_at_places);
}

}  // namespace kiln::cpu
