#include "tensor/cpu/elementwise/transpose.h"

#include <algorithm>
#include <bit>

#include "tensor/cpu/elementwise/transpose_kernels.h"
#include "tensor/cpu/tiling.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kShortest = 8;

}  // namespace

int crossing_dim(const Space& space, int operand) {
  const IntDims& to = space.strides(0);
  const IntDims& from = space.strides(operand);
  if (to.back() != 1 || from.back() == 1 || from.back() == 0 || space.inner() < kShortest) return -1;
  for (std::size_t d = 0; d + 1 < from.size(); ++d) {
    if (from[d] == 1 && space.sizes()[d] >= kShortest) return static_cast<int>(d);
  }
  return -1;
}

bool runs_across(const Tensor& x, const Tensor& result) {
  Space space(result.layout());
  space.add(x.layout());
  space.simplify();
  return crossing_dim(space) >= 0;
}

void copy_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item) {
  constexpr std::int64_t kGrain = 32768;
  const std::int64_t rows = transpose_rows(item);
  const std::int64_t columns = transpose_columns(item);
  const auto kernel = transpose_kernels().of_size[std::countr_zero(static_cast<std::uint64_t>(item))];
  const Tiling tiling(space, static_cast<std::size_t>(dim), space.sizes().size() - 1, rows, columns);
  tiling.each(std::max<std::int64_t>(1, kGrain / (rows * columns)), [&](const Tile& tile) {
    kernel(from + tile.place[1] * item, tiling.across(1), to + tile.place[0] * item, tiling.down(0),
           tile.rows, tile.columns);
  });
}

}  // namespace kiln::cpu
