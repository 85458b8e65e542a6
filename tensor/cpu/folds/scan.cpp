// Kernels of running sums and products: one after the other along a dimension, floats below f64 carried in
// f64.
#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/kernels.h"
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

// Elements as they lie.
template <class T, class Carry>
struct Direct {
  const T* from;
  T* to;

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
      in[r] = from + (row + r) * count;
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
      for (std::int64_t r = 0; r < kRows; ++r) load(from + 2 * ((row + r) * count + i), 1, chunks[r], size);
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
void scan_rows(const Elements& elements, std::int64_t count, std::int64_t begin, std::int64_t end) {
  std::int64_t row = begin;
  for (; row + kTogether <= end; row += kTogether) elements.template rows<C, kTogether>(row, count);
  for (; row < end; ++row) elements.template rows<C, 1>(row, count);
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

// Of i64 or of floats.
template <class C>
void scan_along(const Tensor& result, const Tensor& x, int dim) {
  const Tensor rows = dense(x, x.dtype());
  if (x.numel() == 0) return;
  const SequenceShape shape(x, dim);
  const auto run = [&]<class T, class Carry>() {
    scan_all<C, Carry>(Direct<T, Carry>{rows.data<T>(), result.writable<T>()}, shape);
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
          ByChunks{rows.raw(), result.raw_writable(), table.load[half][kF32], table.store[kF32][half]},
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
