#include "tensor/cpu/moves/flip.h"

#include <algorithm>
#include <bit>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/transpose.h"
#include "tensor/cpu/kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

// Copies elements laid out as `from` says to a contiguous result, row by row.
void copy_rows(const Tensor& result, const Tensor& x, const IntLayout& from) {
  const int last = from.rank() - 1;
  const std::int64_t columns = from.sizes[static_cast<std::size_t>(last)];
  const std::int64_t step = from.strides[static_cast<std::size_t>(last)];
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  const LoadFn load = convert_table().load_raw[std::countr_zero(size_of(x.dtype()))];
  std::byte* out = result.raw_writable();
  const std::byte* in = x.storage()->data();
  parallel_for(result.numel() / columns, std::max<std::int64_t>(1, (1 << 15) / columns),
               [&, out, in](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   std::int64_t at = from.offset;
                   std::int64_t rest = row;
                   for (int d = last - 1; d >= 0; --d) {
                     const auto dim = static_cast<std::size_t>(d);
                     at += rest % from.sizes[dim] * from.strides[dim];
                     rest /= from.sizes[dim];
                   }
                   load(in + at * item, step, out + row * columns * item, columns);
                 }
               });
}

}  // namespace

void flip(const Tensor& result, const Tensor& x, std::span<const std::int64_t> dims) {
  if (x.numel() == 0) return;
  if (runs_across(x, result)) return flip(result, contiguous_copy(x, x.dtype()), dims);
  Layout from = x.layout();
  if (from.rank() == 0) from = {{1}, {1}, from.offset};
  for (const std::int64_t d : dims) {
    const auto dim = static_cast<std::size_t>(d);
    from.offset += (from.sizes[dim] - 1) * from.strides[dim];
    from.strides[dim] = -from.strides[dim];
  }
  copy_rows(result, x, from);
}

}  // namespace kiln::cpu
