#include "tensor/cpu/moves/places.h"

#include <algorithm>
#include <cstring>

#include "tensor/cpu/element_size.h"
#include "tensor/cpu/elementwise/copy_bytes.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kPlacesGrain = 1 << 14;

// The rows at `place`, `step` apart from the first.
template <class T>
void take_rows(T* to, const T* first, const std::int64_t* place, std::int64_t count, std::int64_t step,
               const Places& places) {
  const auto inner = static_cast<std::int64_t>(places.inner.size());
  const std::int64_t bytes = inner * static_cast<std::int64_t>(sizeof(T));
  if (places.dense) {
    for (std::int64_t i = 0; i < count; ++i, to += inner) copy_bytes(to, first + place[i] * step, bytes);
  } else {
    for (std::int64_t i = 0; i < count; ++i, to += inner) {
      const T* const from = first + place[i] * step;
      for (std::int64_t j = 0; j < inner; ++j) to[j] = from[places.inner[as_index(j)]];
    }
  }
}

template <class T>
void take_places(T* out, const T* in, const Places& places) {
  const std::int64_t middle = places.middle.numel(), step = places.step;
  const auto* all = places.middle.data<std::int64_t>();
  const auto inner = static_cast<std::int64_t>(places.inner.size());
  const auto rows = static_cast<std::int64_t>(places.outer.size()) * middle;
  parallel_for(rows, std::max<std::int64_t>(1, kPlacesGrain / inner),
               [&](std::int64_t begin, std::int64_t end) {
                 // Stretches of rows with one outer place.
                 for (std::int64_t row = begin; row < end;) {
                   const std::int64_t first = row % middle;
                   const std::int64_t count = std::min(middle - first, end - row);
                   const T* from = in + places.outer[as_index(row / middle)];
                   const std::int64_t* place = all + first;
                   T* to = out + row * inner;
                   if (inner == 1 && step == 1) {
                     for (std::int64_t i = 0; i < count; ++i) to[i] = from[place[i]];
                   } else if (inner == 1) {
                     for (std::int64_t i = 0; i < count; ++i) to[i] = from[place[i] * step];
                   } else {
                     take_rows(to, from, place, count, step, places);
                   }
                   row += count;
                 }
               });
}

}  // namespace

Places places_around(const Layout& layout, int first, int last, Tensor middle, std::int64_t step) {
  const std::span<const std::int64_t> sizes = ints(layout.sizes);
  const std::span<const std::int64_t> strides = ints(layout.strides);
  const IntDims inner_sizes(sizes.begin() + last, sizes.end());
  const IntDims inner_strides(strides.begin() + last, strides.end());
  return {all_offsets(sizes.first(as_index(first)), strides.first(as_index(first))), std::move(middle), step,
          all_offsets(inner_sizes, inner_strides), is_contiguous(Layout{inner_sizes, inner_strides, 0})};
}

Places places_along(const Tensor& x, int dim, const Tensor& index) {
  const std::int64_t stride = x.rank() == 0 ? 1 : x.strides()[as_index(dim)];
  return places_around(x.layout(), dim, x.rank() == 0 ? 0 : dim + 1, index, stride);
}

void take(const Tensor& result, const Tensor& x, const Places& places) {
  if (places.count() == 0) return;
  visit_size(x.dtype(), [&]<class T>() {
    take_places(reinterpret_cast<T*>(result.raw_writable()), reinterpret_cast<const T*>(x.raw()), places);
  });
}

}  // namespace kiln::cpu
