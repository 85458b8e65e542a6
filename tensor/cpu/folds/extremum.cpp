#include "tensor/cpu/folds/extremum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/cpu/folds/extremum_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// Elements that are worth waking a thread for.
constexpr std::int64_t kGrain = 32768;

// Few sequences are cut, so that every thread gets some.
std::int64_t pieces_of(const SequenceShape& shape, std::int64_t tiles) {
  const std::int64_t wanted = std::int64_t{4} * num_threads() / (shape.outer * tiles);
  return std::clamp<std::int64_t>(wanted, 1,
                                  std::max<std::int64_t>(1, shape.count * shape.inner / tiles / kGrain));
}

// The first extremum of a sequence among those of its pieces.
template <class Order>
void join_pieces(const ExtremumJob& job, const Order& order, const Extrema& results) {
  using Key = decltype(Order::flip);
  const Key* input = reinterpret_cast<const Key*>(job.input);
  Key* values = results.values ? reinterpret_cast<Key*>(results.values.raw_writable()) : nullptr;
  auto* places = results.places.writable<std::int64_t>();
  for (std::int64_t i = 0; i < results.places.numel(); ++i) {
    const std::int64_t outer = i / job.inner, column = i % job.inner;
    const Key* sequence = input + outer * job.count * job.inner + column;
    const std::int64_t* found = job.places + outer * job.pieces * job.inner + column;
    std::int64_t best = *found;
    for (std::int64_t piece = 1; piece < job.pieces; ++piece) {
      const std::int64_t place = found[piece * job.inner];
      const bool better =
          key_at(order, sequence + place * job.inner) > key_at(order, sequence + best * job.inner);
      best = better ? place : best;
    }
    places[i] = best;
    if (values != nullptr) std::memcpy(values + i, sequence + best * job.inner, sizeof(Key));
  }
}

}  // namespace

void find_extrema(const Extrema& results, const Tensor& x, const SequenceShape& shape, bool greatest) {
  if (x.numel() == 0) return;
  const auto element_size = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t tiles = shape.inner == 1 ? 1 : extremum_tiles(shape.inner, element_size);
  ExtremumJob job{.input = x.raw(),
                  .count = shape.count,
                  .inner = shape.inner,
                  .pieces = pieces_of(shape, tiles),
                  .order = order_bits(x.dtype(), greatest)};
  job.piece = job.count / job.pieces;
  Tensor found = results.places;
  if (job.pieces > 1) {
    const Dim cut[] = {shape.outer, job.pieces, shape.inner};
    found = Tensor::empty(cut, DType::I64, x.device());
  } else if (results.values) {
    job.values = results.values.raw_writable();
  }
  job.places = found.writable<std::int64_t>();
  const ExtremumKernel& kernel =
      extremum_kernels().of[is_float(x.dtype())][std::countr_zero(static_cast<std::size_t>(element_size))];
  const std::int64_t work = std::max<std::int64_t>(1, job.piece * shape.inner / tiles);
  parallel_for(shape.outer * job.pieces * tiles, std::max<std::int64_t>(1, kGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 (shape.inner == 1 ? kernel.rows : kernel.columns)(job, begin, end);
               });
  if (job.pieces > 1)
    visit_order(x.dtype(), greatest, [&](const auto& order) { join_pieces(job, order, results); });
}

}  // namespace kiln::cpu
