#include "tensor/cpu/offsets.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tensor/cpu/copy.h"
#include "tensor/ops/rules.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

constexpr std::int64_t kGrain = 1 << 14;

// Moves of elements only ask for their size.
template <class F>
void visit_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

// One combination of two elements; halves through f32, integers modulo 2^bits.
template <Put kPut, class T>
T combined(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return kPut == Put::Add || kPut == Put::Max ? a || b : a && b;
  } else if constexpr (std::is_same_v<T, Half>) {
    return to_half(combined<kPut>(to_float(a), to_float(b)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(combined<kPut>(to_float(a), to_float(b)));
  } else if constexpr (kPut == Put::Max || kPut == Put::Min) {
    const bool first = a != a || (kPut == Put::Max ? a > b : a < b);
    return first ? a : b;
  } else {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    const auto x = static_cast<Wide>(a);
    const auto y = static_cast<Wide>(b);
    return static_cast<T>(kPut == Put::Add ? x + y : x * y);
  }
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
void take_row(T* to, const T* from, const Places& places) {
  const std::size_t inner = places.inner.size();
  if (places.dense) {
    std::memcpy(to, from, inner * sizeof(T));
  } else {
    for (std::size_t i = 0; i < inner; ++i) to[i] = from[places.inner[i]];
  }
}

template <class T>
void take_places(T* out, const T* in, const Places& places) {
  const auto middle = static_cast<std::int64_t>(places.middle.size());
  const auto inner = static_cast<std::int64_t>(places.inner.size());
  const auto rows = static_cast<std::int64_t>(places.outer.size()) * middle;
  parallel_for(rows, std::max<std::int64_t>(1, kGrain / inner), [&](std::int64_t begin, std::int64_t end) {
    // Stretches of rows with one outer place.
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t first = row % middle;
      const std::int64_t count = std::min(middle - first, end - row);
      const T* from = in + places.outer[at(row / middle)];
      const std::int64_t* place = places.middle.data() + first;
      T* to = out + row * inner;
      if (inner == 1) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[place[i]];
      } else {
        for (std::int64_t i = 0; i < count; ++i) take_row(to + i * inner, from + place[i], places);
      }
      row += count;
    }
  });
}

// How the places of a write are shared out, so that no two threads write one place: by outer and inner places
// when there are enough of them, else by ranges of the middle places' values.
struct Shares {
  std::int64_t inner_pieces = 1;
  std::int64_t ranges = 1;
  std::int64_t low = 0;
  std::int64_t width = 1;

  explicit Shares(const Places& places) {
    constexpr std::int64_t kLine = 64;
    const auto inner = static_cast<std::int64_t>(places.inner.size());
    if (places.count() < kGrain) return;
    const auto outer = static_cast<std::int64_t>(places.outer.size());
    inner_pieces = std::clamp<std::int64_t>(inner / kLine, 1, num_threads() * 4);
    if (outer * inner_pieces >= num_threads() || places.middle.empty()) return;
    const auto [least, most] = std::minmax_element(places.middle.begin(), places.middle.end());
    ranges = num_threads();
    low = *least;
    width = (*most - low) / ranges + 1;
  }
};

template <class T, class Write>
void put_places(T* out, const T* in, const Places& places, const Write& write) {
  const Shares shares(places);
  const auto middle = static_cast<std::int64_t>(places.middle.size());
  const auto inner = static_cast<std::int64_t>(places.inner.size());
  const auto outer = static_cast<std::int64_t>(places.outer.size());
  const std::int64_t piece = (inner + shares.inner_pieces - 1) / shares.inner_pieces;
  const std::int64_t tasks = outer * shares.inner_pieces * shares.ranges;
  parallel_for(tasks, tasks == 1 ? 2 : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t range = task % shares.ranges;
      const std::int64_t first = task / shares.ranges % shares.inner_pieces * piece;
      const std::int64_t last = std::min(first + piece, inner);
      const std::int64_t o = task / shares.ranges / shares.inner_pieces;
      const std::int64_t low = shares.low + range * shares.width;
      for (std::int64_t m = 0; m < middle; ++m) {
        const std::int64_t place = places.middle[at(m)];
        if (shares.ranges > 1 && (place < low || place >= low + shares.width)) continue;
        T* to = out + places.outer[at(o)] + place;
        const T* from = in + (o * middle + m) * inner;
        if (places.dense) {
          for (std::int64_t i = first; i < last; ++i) write(to[i], from[i]);
        } else {
          for (std::int64_t i = first; i < last; ++i) write(to[places.inner[at(i)]], from[i]);
        }
      }
    }
  });
}

// The places of an index' elements in another tensor, dimension `dim` left out, and what one step along it
// is.
struct Lines {
  std::vector<std::int64_t> index;
  std::vector<std::int64_t> other;
  std::vector<std::int64_t> source;
  std::int64_t length;
  std::int64_t index_step;
  std::int64_t other_step;
  std::int64_t source_step;
};

Dims without(const Dims& values, int dim) {
  Dims result = values;
  if (!result.empty()) result.erase(result.begin() + dim);
  return result;
}

Lines lines_along(int dim, const Tensor& index, const Tensor& other, const Tensor& source) {
  const Dims sizes = without(index.sizes(), dim);
  const auto step = [dim](const Tensor& x) { return x.rank() == 0 ? 1 : x.strides()[at(dim)]; };
  return {all_offsets(sizes, without(index.strides(), dim)),
          all_offsets(sizes, without(other.strides(), dim)),
          all_offsets(sizes, without(source.strides(), dim)),
          index.rank() == 0 ? 1 : index.size(dim),
          step(index),
          step(other),
          step(source)};
}

template <class T, class Write>
void scatter_lines(T* out, const T* in, const std::int64_t* index, const Lines& lines, const Write& write) {
  const auto count = static_cast<std::int64_t>(lines.index.size());
  parallel_for(count, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(lines.length, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t line = begin; line < end; ++line) {
                   T* to = out + lines.other[at(line)];
                   const T* from = in + lines.source[at(line)];
                   const std::int64_t* place = index + lines.index[at(line)];
                   for (std::int64_t i = 0; i < lines.length; ++i) {
                     write(to[place[i * lines.index_step] * lines.other_step], from[i * lines.source_step]);
                   }
                 }
               });
}

}  // namespace

std::vector<std::int64_t> all_offsets(std::span<const Dim> sizes, std::span<const Dim> strides) {
  std::vector<std::int64_t> result{0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(result.size() * at(sizes[d]));
    for (const std::int64_t base : result) {
      for (Dim i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d]);
    }
    result = std::move(next);
  }
  return result;
}

Tensor checked_index(const Tensor& index, Dim size, int dim, bool wrap, int operand) {
  const bool ready = index.dtype() == DType::I64 && index.is_contiguous();
  Tensor result = ready ? index : contiguous_copy(index, DType::I64);
  const auto* values = result.data<std::int64_t>();
  const std::int64_t least = wrap ? -size : 0;
  std::atomic<bool> bad{false};
  std::atomic<bool> negative{false};
  parallel_for(result.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t low = 0;
    std::int64_t high = -1;
    for (std::int64_t i = begin; i < end; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    if (low < least || high >= size) bad = true;
    if (low < 0) negative = true;
  });
  if (bad) {
    const auto* wrong =
        std::find_if(values, values + result.numel(), [=](auto v) { return v < least || v >= size; });
    rules::index_out_of_bounds(*wrong, dim, size, {operand});
  }
  if (!negative) return result;
  if (ready) result = contiguous_copy(index, DType::I64);
  auto* wrapped = result.writable<std::int64_t>();
  for (std::int64_t i = 0; i < result.numel(); ++i) wrapped[i] += wrapped[i] < 0 ? size : 0;
  return result;
}

Places places_around(const Layout& layout, int first, int last, std::vector<std::int64_t> middle) {
  const std::span<const Dim> sizes = layout.sizes;
  const std::span<const Dim> strides = layout.strides;
  const Dims inner_sizes(sizes.begin() + last, sizes.end());
  const Dims inner_strides(strides.begin() + last, strides.end());
  return {all_offsets(sizes.first(at(first)), strides.first(at(first))), std::move(middle),
          all_offsets(inner_sizes, inner_strides), is_contiguous(Layout{inner_sizes, inner_strides, 0})};
}

void take(const Tensor& result, const Tensor& x, const Places& places) {
  if (places.count() == 0) return;
  visit_size(x.dtype(), [&]<class T>() {
    take_places(reinterpret_cast<T*>(result.raw_writable()), reinterpret_cast<const T*>(x.raw()), places);
  });
}

void put(const Tensor& target, const Tensor& values, const Places& places, Put put) {
  if (places.count() == 0) return;
  if (put == Put::Add) {
    visit_dtype(target.dtype(), [&]<class T>() {
      put_places(target.writable<T>(), values.data<T>(), places,
                 [](T& to, T from) { to = combined<Put::Add>(to, from); });
    });
    return;
  }
  visit_size(target.dtype(), [&]<class T>() {
    put_places(reinterpret_cast<T*>(target.raw_writable()), reinterpret_cast<const T*>(values.raw()), places,
               [](T& to, T from) { to = from; });
  });
}

void gather(const Tensor& result, const Tensor& x, int dim, const Tensor& index) {
  if (result.numel() == 0) return;
  const auto* places = index.data<std::int64_t>();
  // Row by row of the result, whose last dimension is dense.
  const int last = std::max(result.rank() - 1, 0);
  const Dim columns = result.rank() == 0 ? 1 : result.size(last);
  const Dim step = x.rank() == 0 ? 1 : x.strides()[at(dim)];
  const Dim along = x.rank() == 0 || last == dim ? 0 : x.strides()[at(last)];
  Dims row_strides = x.strides();
  if (x.rank() > 0) row_strides[at(dim)] = 0;
  const Dims rows(result.sizes().begin(), result.sizes().begin() + last);
  const std::vector<std::int64_t> bases =
      all_offsets(rows, std::span<const Dim>(row_strides).first(rows.size()));
  visit_size(x.dtype(), [&]<class T>() {
    T* out = reinterpret_cast<T*>(result.raw_writable());
    const T* in = reinterpret_cast<const T*>(x.raw());
    parallel_for(static_cast<std::int64_t>(bases.size()), std::max<Dim>(1, kGrain / columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const T* from = in + bases[at(row)];
                     const std::int64_t* place = places + row * columns;
                     T* to = out + row * columns;
                     for (Dim j = 0; j < columns; ++j) to[j] = from[place[j] * step + j * along];
                   }
                 });
  });
}

namespace {

template <Put kPut>
void scatter_combined(const Tensor& target, const Tensor& source, const std::int64_t* places,
                      const Lines& lines) {
  visit_dtype(target.dtype(), [&]<class T>() {
    scatter_lines(target.writable<T>(), source.data<T>(), places, lines,
                  [](T& to, T from) { to = combined<kPut>(to, from); });
  });
}

}  // namespace

void scatter(const Tensor& target, int dim, const Tensor& index, const Tensor& source, Put put) {
  if (index.numel() == 0) return;
  const Lines lines = lines_along(dim, index, target, source);
  const auto* places = index.data<std::int64_t>();
  switch (put) {
    case Put::Write:
      return visit_size(target.dtype(), [&]<class T>() {
        scatter_lines(reinterpret_cast<T*>(target.raw_writable()), reinterpret_cast<const T*>(source.raw()),
                      places, lines, [](T& to, T from) { to = from; });
      });
    case Put::Add:
      return scatter_combined<Put::Add>(target, source, places, lines);
    case Put::Multiply:
      return scatter_combined<Put::Multiply>(target, source, places, lines);
    case Put::Max:
      return scatter_combined<Put::Max>(target, source, places, lines);
    case Put::Min:
      return scatter_combined<Put::Min>(target, source, places, lines);
  }
}

}  // namespace kiln::cpu
