#include "tensor/ops/rows.h"

#include <algorithm>

#include "tensor/cpu/copy.h"
#include "tensor/cpu/fold.h"
#include "tensor/fixed_order.h"
#include "tensor/parallel.h"

namespace kiln::ops {
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
  return rows.is_contiguous() ? rows : cpu::contiguous_copy(rows, x.dtype());
}

Tensor rows_back(const Tensor& rows, int dim) {
  if (rows.rank() == 0 || dim == rows.rank() - 1) return rows;
  return cpu::contiguous_copy(Tensor::alias(rows, moved(rows.layout(), rows.rank() - 1, dim)), rows.dtype());
}

void run_rows(cpu::RowProgram program, DType dtype, cpu::RowJob job, std::int64_t rows) {
  if (rows == 0 || job.size == 0) return;
  const auto bytes = rows * job.size * static_cast<std::int64_t>(size_of(dtype));
  job.streaming = streams(bytes) && job.size <= 65536;
  const cpu::RowKernel kernel =
      cpu::row_kernels()
          .program[static_cast<int>(program)][static_cast<int>(dtype) - static_cast<int>(DType::F16)];
  parallel_for(rows, std::max<std::int64_t>(1, 4096 / job.size),
               [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
}

bool streams(std::int64_t bytes) { return bytes > std::int64_t{8} << 20; }

Tensor column_sums(cpu::NormColumnsJob job, DType dtype) {
  job.blocks = std::max<std::int64_t>(1, reduction_blocks(job.rows));
  job.tile = std::clamp<std::int64_t>(job.size / (4 * num_threads()) / 64 * 64, 64, cpu::kNormColumnTile);
  const Dim sizes[] = {2, job.size, job.blocks};
  const Tensor partials = Tensor::empty(sizes, cpu::accumulator_of(dtype));
  job.results = partials.raw_writable();
  const std::int64_t tiles = (job.size + job.tile - 1) / job.tile;
  const auto kernel = cpu::row_kernels().norm_columns[static_cast<int>(dtype) - static_cast<int>(DType::F16)];
  parallel_for(tiles * job.blocks, 1, [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
  return job.blocks == 1 ? partials : cpu::sum_blocks(partials);
}

}  // namespace kiln::ops
