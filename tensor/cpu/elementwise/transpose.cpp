#include "tensor/cpu/elementwise/transpose.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/cpu/elementwise/transpose_kernels.h"
#include "tensor/cpu/tiling.h"

namespace kiln::cpu {
namespace {

constexpr Dim kShortest = 8;
constexpr std::int64_t kShortestRun = 64, kLongestRun = 512;  // bytes
constexpr std::int64_t kBlockBytes = 4096;  // of runs that follow one another on either side
constexpr std::int64_t kStreamingBytes = std::int64_t{8} << 20;  // results that do not stay in cache

}  // namespace

int crossing_dim(const Space& space, int operand) {
  const Dims& to = space.strides(0);
  const Dims& from = space.strides(operand);
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

bool is_streamed(std::int64_t bytes) { return bytes > kStreamingBytes; }

void copy_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item) {
  constexpr std::int64_t kGrain = 32768;
  const bool streaming = is_streamed(space.numel() * item);
  const std::int64_t rows = streaming ? streamed_rows(item) : transpose_rows(item);
  const std::int64_t columns = transpose_columns(item);
  const auto kernel = transpose_kernels().of_size[std::countr_zero(static_cast<std::uint64_t>(item))];
  const Tiling tiling(space, static_cast<std::size_t>(dim), space.sizes().size() - 1, rows, columns);
  tiling.each(std::max<std::int64_t>(1, kGrain / (rows * columns)), [&](const Tile& tile) {
    kernel(from + tile.place[1] * item, tiling.across(1), to + tile.place[0] * item, tiling.down(0),
           tile.rows, tile.columns, streaming);
  });
}

int crossing_runs_dim(const Space& space, std::int64_t item) {
  const std::size_t dims = space.sizes().size();
  const Dims& from = space.strides(1);
  const std::int64_t bytes = space.inner() * item;
  if (dims < 3 || space.strides(0)[dims - 1] != 1 || from[dims - 1] != 1) return -1;
  if (bytes < kShortestRun || bytes > kLongestRun) return -1;
  std::size_t best = dims - 2;
  for (std::size_t d = 0; d + 2 < dims; ++d)
    if (from[d] != 0 && from[d] < from[best]) best = d;
  return best == dims - 2 || from[best] * item >= kBlockBytes ? -1 : static_cast<int>(best);
}

void copy_runs_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item) {
  const std::int64_t bytes = space.inner() * item;
  const std::int64_t side = kBlockBytes / bytes;
  const Tiling tiling(space, static_cast<std::size_t>(dim), space.sizes().size() - 2, side, side);
  tiling.each(1, [&](const Tile& tile) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::byte* source = from + (tile.place[1] + row * tiling.down(1)) * item;
      std::byte* target = to + (tile.place[0] + row * tiling.down(0)) * item;
      for (std::int64_t column = 0; column < tile.columns; ++column) {
        std::memcpy(target, source, static_cast<std::size_t>(bytes));
        source += tiling.across(1) * item;
        target += tiling.across(0) * item;
      }
    }
  });
}

}  // namespace kiln::cpu
