#include "tensor/cpu/folds/rows.h"

#include <algorithm>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/fixed_order.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

Layout moved(const Layout& layout, int from, int to) {
  Layout result = layout;
  if (layout.rank() == 0) return result;
  const auto source = static_cast<std::size_t>(from);
  result.sizes.erase(result.sizes.begin() + from);
  result.strides.erase(result.strides.begin() + from);
  result.sizes.insert(result.sizes.begin() + to, layout.sizes[source]);
  result.strides.insert(result.strides.begin() + to, layout.strides[source]);
  return result;
}

}  // namespace

Tensor rows_along(const Tensor& x, int dim) {
  if (x.rank() == 0 || (dim == x.rank() - 1 && x.is_contiguous())) return x;
  const Tensor rows = Tensor::alias(x, moved(x.layout(), dim, x.rank() - 1));
  return rows.is_contiguous() ? rows : contiguous_copy(rows, x.dtype());
}

Tensor rows_for(const Tensor& output, int dim) {
  if (output.rank() == 0 || dim == output.rank() - 1) return output;
  return Tensor::empty(moved(output.layout(), dim, output.rank() - 1).sizes, output.dtype(), output.device());
}

void rows_back(const Tensor& output, const Tensor& rows, int dim) {
  if (!rows.is_same(output)) copy(output, Tensor::alias(rows, moved(rows.layout(), rows.rank() - 1, dim)));
}

namespace {

int float_index(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::F16); }

std::int64_t row_grain(std::int64_t size) { return std::max<std::int64_t>(1, 4096 / size); }

}  // namespace

void run_rows(RowProgram program, DType dtype, const RowJob& job) {
  if (job.rows == 0 || job.size == 0) return;
  const RowKernel kernel = row_kernels().program[static_cast<int>(program)][float_index(dtype)];
  parallel_for(job.rows, row_grain(job.size),
               [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
}

Tensor column_sums(NormColumnsJob job, DType dtype) {
  job.blocks = std::max<std::int64_t>(1, reduction_blocks(job.rows));
  job.tile = std::clamp<std::int64_t>(job.size / (4 * num_threads()) / 64 * 64, 64, kNormColumnTile);
  const Dim sizes[] = {2, job.size, job.blocks};
  const Tensor partials = Tensor::empty(sizes, accumulator_of(dtype), Device{});
  job.results = partials.raw_writable();
  const std::int64_t tiles = ceil_divide(job.size, job.tile);
  const auto kernel = row_kernels().norm_columns[float_index(dtype)];
  parallel_for(tiles * job.blocks, 1, [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
  return job.blocks == 1 ? partials : sum_blocks(partials);
}

}  // namespace kiln::cpu
