#include "jit/cuda/tiles.h"

#include <algorithm>
#include <utility>

#include "jit/cuda/vectors.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kTileSide = 32;  // of tensor/cuda/kernels/tiles.cuh
constexpr std::int64_t kShortestSide = 16;
constexpr std::int64_t kMostWork = 64;

// The axis along which a load has its neighbours, where that is not the one of the stores; 0: none.
std::size_t crossing_axis(const cuda::WalkAxes& axes, const IntDims& strides) {
  if (strides[0] == 0 || strides[0] == 1) return 0;
  for (std::size_t d = 1; d < axes.sizes.size(); ++d)
    if (strides[d] == 1 && axes.sizes[d] >= kShortestSide) return d;
  return 0;
}

}  // namespace

bool has_tiles(const LoopNest& nest) {
  const bool may_cross = std::ranges::any_of(
      nest.loads, [](const Load& each) { return is_loaded_in_vectors(each) && shows_view(each); });
  return nest.row_rank == 0 && may_cross && cost_of(nest) <= kMostWork;
}

cuda::TileJob plan_tiles(const LoopNest& nest, cuda::WalkAxes& axes) {
  cuda::TileJob job{};
  if (!has_tiles(nest) || axes.sizes.size() < 2 || axes.sizes[0] < kShortestSide) return job;
  for (std::size_t k = 0; k < nest.stores.size(); ++k)
    if (axes.strides[nest.loads.size() + k][0] != 1) return job;
  std::size_t axis = 0;
  int slots = 0;
  std::ranges::fill(job.of_slot, -1);
  for (std::size_t k = 0; k < nest.loads.size() && slots < cuda::kTileSlots; ++k) {
    const std::size_t crossing =
        is_loaded_in_vectors(nest.loads[k]) ? crossing_axis(axes, axes.strides[k]) : 0;
    if (crossing == 0 || (axis != 0 && crossing != axis)) continue;
    axis = crossing;
    job.of_slot[slots++] = static_cast<cuda::Count>(k);
  }
  if (axis == 0) return job;
  std::swap(axes.sizes[1], axes.sizes[axis]);
  for (IntDims& each : axes.strides) std::swap(each[1], each[axis]);
  job.columns = axes.sizes[0];
  job.rows = axes.sizes[1];
  job.across = ceil_divide(axes.sizes[0], kTileSide);
  job.down = ceil_divide(axes.sizes[1], kTileSide);
  job.tiles = job.across * job.down * (count_elements(axes.sizes) / (axes.sizes[0] * axes.sizes[1]));
  return job;
}

}  // namespace kiln::jit
