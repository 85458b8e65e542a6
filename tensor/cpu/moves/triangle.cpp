// Kernels of the rows that make triangles of matrices.
#include <algorithm>
#include <cstring>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/ops/create.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// A copy with zeros on one side of a diagonal of every matrix.
void triangle(const Tensor& x, const Tensor& result, std::int64_t diagonal, bool lower) {
  copy(result, x);
  const std::size_t bytes = size_of(x.dtype());
  const std::int64_t rows = x.size(x.rank() - 2);
  const std::int64_t columns = x.size(x.rank() - 1);
  if (result.numel() == 0) return;
  std::byte* out = result.raw_writable();
  parallel_for(result.numel() / columns, std::max<std::int64_t>(1, (1 << 15) / columns),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   // Columns up to this one belong to the lower triangle.
                   const std::int64_t edge =
                       std::clamp<std::int64_t>(row % rows + diagonal + (lower ? 1 : 0), 0, columns);
                   const std::int64_t first = lower ? edge : 0;
                   const std::int64_t last = lower ? columns : edge;
                   std::memset(out + static_cast<std::size_t>(row * columns + first) * bytes, 0,
                               static_cast<std::size_t>(last - first) * bytes);
                 }
               });
}
template <bool kLower>
void triangle_of(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  triangle(inputs[0], outputs[0], triangle_diagonal(attrs), kLower);
}
template <bool kLower>
std::unique_ptr<const GatherReader> read_triangle(Inputs inputs, const Attrs& attrs) {
  return triangle_reader(inputs[0], triangle_diagonal(attrs), kLower);
}

}  // namespace

void add_triangle_kernels(Column& column) {
  column.add("tril", triangle_of<true>);
  column.add_reader("tril", read_triangle<true>);
  column.add("triu", triangle_of<false>);
  column.add_reader("triu", read_triangle<false>);
}

}  // namespace kiln::cpu
