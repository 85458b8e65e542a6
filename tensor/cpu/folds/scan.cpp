// Kernels of running sums and products: one after the other along a dimension, floats below f64 carried in
// f64.
#include <algorithm>
#include <optional>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/sequence_shape.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

struct Add {
  template <class T>
  static constexpr T kStart = T(0);
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Multiply {
  template <class T>
  static constexpr T kStart = T(1);
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};

// The next elements of sequences that lie side by side; integers wrap.
template <class C, class T, class Carry>
void step(const T* from, T* to, Carry* carry, std::int64_t width) {
  for (std::int64_t w = 0; w < width; ++w) {
    carry[w] = C::apply(carry[w], static_cast<Carry>(from[w]));
    to[w] = static_cast<T>(carry[w]);
  }
}

inline constexpr std::int64_t kTogether = 4;  // rows: each step of one waits for the one before

template <class C, class T, class Carry, std::int64_t kRows>
void run_rows(const T* const (&from)[kRows], T* const (&to)[kRows], Carry (&carry)[kRows],
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      carry[r] = C::apply(carry[r], static_cast<Carry>(from[r][i]));
      to[r][i] = static_cast<T>(carry[r]);
    }
  }
}

// Elements as they lie, rows of operands `apart` from the next.
template <class T, class Carry>
struct Direct {
  const T* from;
  T* to;
  std::int64_t apart;

  template <class C>
  void strip(std::int64_t at, Carry* carry, std::int64_t width) const {
    step<C>(from + at, to + at, carry, width);
  }
  template <class C, std::int64_t kRows>
  void rows(std::int64_t row, std::int64_t count) const {
    const T* in[kRows];
    T* out[kRows];
    Carry carry[kRows];
    for (std::int64_t r = 0; r < kRows; ++r) {
      in[r] = from + (row + r) * apart;
      out[r] = to + (row + r) * count;
      carry[r] = C::template kStart<Carry>;
    }
    run_rows<C>(in, out, carry, count);
  }
};

// Halves, which become f32 a chunk at a time.
struct ByChunks {
  using Carry = double;
  const std::byte* from;
  std::byte* to;
  LoadFn load;
  StoreFn store;
  std::int64_t apart;  // rows of the operand
  static constexpr std::int64_t kChunk = 256;

  template <class C>
  void strip(std::int64_t at, Carry* carry, std::int64_t width) const {
    float chunk[kChunk];
    load(from + 2 * at, 1, chunk, width);
    step<C>(static_cast<const float*>(chunk), chunk, carry, width);
    store(chunk, to + 2 * at, 1, width);
  }
  template <class C, std::int64_t kRows>
  void rows(std::int64_t row, std::int64_t count) const {
    float chunks[kRows][kChunk];
    const float* in[kRows];
    float* out[kRows];
    Carry carry[kRows];
    for (std::int64_t r = 0; r < kRows; ++r) {
      in[r] = out[r] = chunks[r];
      carry[r] = C::template kStart<Carry>;
    }
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t size = std::min(kChunk, count - i);
      for (std::int64_t r = 0; r < kRows; ++r) load(from + 2 * ((row + r) * apart + i), 1, chunks[r], size);
      run_rows<C>(in, out, carry, size);
      for (std::int64_t r = 0; r < kRows; ++r) store(chunks[r], to + 2 * ((row + r) * count + i), 1, size);
    }
  }
};

inline constexpr std::int64_t kStrip = 256;

template <class C, class Carry, class Elements>
void scan(const Elements& elements, const SequenceShape& shape, std::int64_t begin, std::int64_t end) {
  const std::int64_t strips = ceil_divide(shape.inner, kStrip);
  Carry carry[kStrip];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % strips * kStrip;
    const std::int64_t width = std::min(kStrip, shape.inner - first);
    std::fill_n(carry, width, C::template kStart<Carry>);
    std::int64_t at = unit / strips * shape.count * shape.inner + first;
    for (std::int64_t i = 0; i < shape.count; ++i, at += shape.inner)
      elements.template strip<C>(at, carry, width);
  }
}

// Rows [begin, end) along memory, several side by side.
template <class C, class Elements>
void scan_long_rows(const Elements& elements, std::int64_t count, std::int64_t begin, std::int64_t end) {
  std::int64_t row = begin;
  for (; row + kTogether <= end; row += kTogether) elements.template rows<C, kTogether>(row, count);
  for (; row < end; ++row) elements.template rows<C, 1>(row, count);
}
template <class C, class T, class Carry>
void scan_rows(const Direct<T, Carry>& elements, std::int64_t count, std::int64_t begin, std::int64_t end) {
  scan_long_rows<C>(elements, count, begin, end);
}
// Short rows are converted as many at a time as a chunk holds.
template <class C>
void scan_rows(const ByChunks& elements, std::int64_t count, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kChunk = kTogether * ByChunks::kChunk;
  if (count > ByChunks::kChunk) return scan_long_rows<C>(elements, count, begin, end);
  float chunk[kChunk];
  const Direct<float, ByChunks::Carry> converted{chunk, chunk, count};
  const std::int64_t together = kChunk / count;
  for (std::int64_t row = begin; row < end; row += together) {
    const std::int64_t rows = std::min(together, end - row);
    elements.load(elements.from + 2 * row * count, 1, chunk, rows * count);
    scan_long_rows<C>(converted, count, 0, rows);
    elements.store(chunk, elements.to + 2 * row * count, 1, rows * count);
  }
}

template <class C, class Carry, class Elements>
void scan_all(const Elements& elements, const SequenceShape& shape) {
  const std::int64_t units = shape.outer * ceil_divide(shape.inner, kStrip);
  const std::int64_t work = shape.count * std::min(shape.inner, kStrip);
  parallel_for(units, std::max<std::int64_t>(1, 16384 / work), [&](std::int64_t begin, std::int64_t end) {
    if (shape.inner == 1) return scan_rows<C>(elements, shape.count, begin, end);
    scan<C, Carry>(elements, shape, begin, end);
  });
}

// How far rows of x lie apart that are dense themselves, where one step leads from each to the next. Short
// rows of halves, which are converted together, are to lie together.
std::optional<std::int64_t> step_of_rows(const Tensor& x, int dim) {
  const int last = x.rank() - 1;
  if (last < 0 || dim != last || x.strides().back() != 1) return std::nullopt;
  if (size_of(x.dtype()) == 2 && x.size(last) <= ByChunks::kChunk) return std::nullopt;
  const auto rows = static_cast<std::size_t>(last);
  const std::span<const Dim> sizes = x.sizes(), strides = x.strides();
  std::int64_t step = x.size(last);
  return one_stride(sizes.first(rows), strides.first(rows), step) ? std::optional(step) : std::nullopt;
}

// Of i64 or of floats.
template <class C>
void scan_along(const Tensor& result, const Tensor& x, int dim) {
  const std::optional<std::int64_t> found = step_of_rows(x, dim);
  const Tensor rows = found || x.is_contiguous() ? x : contiguous_copy(x, x.dtype());
  if (x.numel() == 0) return;
  const SequenceShape shape(x, dim);
  const std::int64_t step = found.value_or(shape.count);
  const auto run = [&]<class T, class Carry>() {
    scan_all<C, Carry>(Direct<T, Carry>{rows.data<T>(), result.writable<T>(), step}, shape);
  };
  switch (x.dtype()) {
    case DType::I64:
      run.template operator()<std::int64_t, std::uint64_t>();
      break;
    case DType::F32:
      run.template operator()<float, double>();
      break;
    case DType::F64:
      run.template operator()<double, double>();
      break;
    default: {
      const ConvertTable& table = convert_table();
      const auto half = static_cast<std::size_t>(x.dtype());
      constexpr auto kF32 = static_cast<std::size_t>(Compute::F32);
      scan_all<C, double>(
          ByChunks{rows.raw(), result.raw_writable(), table.load[half][kF32], table.store[kF32][half], step},
          shape);
    }
  }
}

template <class C>
void running(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const DType dtype = outputs[0].dtype();
  const DType carried = is_float(dtype) ? dtype : DType::I64;
  const Tensor x = cast(cast(inputs[0], dtype), carried);
  const Tensor result = computed_in(outputs[0], carried);
  scan_along<C>(result, x, wrap_dim(attrs.get<std::int64_t>("dim"), x.rank(), attrs.op()->name()));
  finish(outputs[0], result);
}

}  // namespace

void add_scan_kernels(Column& column) {
  column.add("cumsum", running<Add>);
  column.add("cumprod", running<Multiply>);
}

}  // namespace kiln::cpu
