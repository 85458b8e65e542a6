#include "tensor/ops/rows.h"

#include <algorithm>

#include "tensor/cpu/copy.h"
#include "tensor/parallel.h"

namespace kiln::ops {
namespace {

// Results beyond this many bytes do not stay in the last cache until they are read.
inline constexpr std::int64_t kStreamingBytes = std::int64_t{8} << 20;

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
  job.streaming = bytes > kStreamingBytes && job.size <= 65536;
  const cpu::RowKernel kernel =
      cpu::row_kernels()
          .program[static_cast<int>(program)][static_cast<int>(dtype) - static_cast<int>(DType::F16)];
  parallel_for(rows, std::max<std::int64_t>(1, 4096 / job.size),
               [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
}

}  // namespace kiln::ops
