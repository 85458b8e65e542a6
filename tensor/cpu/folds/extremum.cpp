#include "tensor/cpu/folds/extremum.h"

#include <algorithm>
#include <bit>

#include "tensor/cpu/folds/extremum_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// Elements that are worth waking a thread for.
constexpr std::int64_t kGrain = 32768;

}  // namespace

void find_extrema(const Extrema& results, const Tensor& x, const SequenceShape& shape, bool greatest) {
  if (x.numel() == 0) return;
  const auto element_size = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t tiles = shape.inner == 1 ? 1 : extremum_tiles(shape.inner, element_size);
  ExtremumJob job{.input = x.raw(),
                  .count = shape.count,
                  .inner = shape.inner,
                  .order = order_bits(x.dtype(), greatest),
                  .places = results.places.writable<std::int64_t>()};
  if (results.values) job.values = results.values.raw_writable();
  const ExtremumKernel& kernel =
      extremum_kernels().of[is_float(x.dtype())][std::countr_zero(static_cast<std::size_t>(element_size))];
  const std::int64_t work = std::max<std::int64_t>(1, shape.count * shape.inner / tiles);
  parallel_for(shape.outer * tiles, std::max<std::int64_t>(1, kGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 (shape.inner == 1 ? kernel.rows : kernel.columns)(job, begin, end);
               });
}

}  // namespace kiln::cpu
