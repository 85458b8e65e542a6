// Owns running sums and products: one after the other along a dimension, floats below f64 carried in f64.
#include <algorithm>
#include <optional>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/folds/sequence_shape.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/integers.h"
#include "tensor/levels/wrapper.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"
#include "tensor/pointwise_params.h"

namespace kiln {
namespace {

// ---- Kernel ----------------------------------------------------------------------------------------------

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
  cpu::LoadFn load;
  cpu::StoreFn store;
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
void scan(const Elements& elements, const cpu::SequenceShape& shape, std::int64_t begin, std::int64_t end) {
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
void scan_all(const Elements& elements, const cpu::SequenceShape& shape) {
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
  return cpu::one_stride(sizes.first(rows), strides.first(rows), step) ? std::optional(step) : std::nullopt;
}

// Of i64 or of floats.
template <class C>
Tensor scan_along(const Tensor& x, int dim) {
  const std::optional<std::int64_t> found = step_of_rows(x, dim);
  const Tensor rows = found || x.is_contiguous() ? x : cpu::contiguous_copy(x, x.dtype());
  const Tensor result = Tensor::empty(x.sizes(), x.dtype(), x.device());
  if (x.numel() == 0) return result;
  const cpu::SequenceShape shape(x, dim);
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
      const cpu::ConvertTable& table = cpu::convert_table();
      const auto half = static_cast<std::size_t>(x.dtype());
      constexpr auto kF32 = static_cast<std::size_t>(Compute::F32);
      scan_all<C, double>(
          ByChunks{rows.raw(), result.raw_writable(), table.load[half][kF32], table.store[kF32][half], step},
          shape);
    }
  }
  return result;
}

// ---- Rules -----------------------------------------------------------------------------------------------

int dim_of(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

std::vector<TensorType> infer_scan(std::span<const TensorType> in, const Attrs& attrs) {
  dim_of(attrs, static_cast<int>(in[0].sizes.size()));
  return {{total_dtype(in[0].dtype, attrs), in[0].device, in[0].sizes, false}};
}

template <class C>
Tensors scan_eager(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = total_dtype(in[0].dtype(), attrs);
  const Tensor x = ops::cast(ops::cast(in[0], dtype), is_float(dtype) ? dtype : DType::I64);
  return {ops::cast(scan_along<C>(x, dim_of(attrs, x.rank())), dtype)};
}

// Sum of an element and all after it.
Tensor sum_from_here(const Tensor& x, int dim) {
  if (x.rank() == 0) return x;
  const Dims along{dim};
  return ops::flip(ops::cumsum(ops::flip(x, along), dim), along);
}

Tensors cumsum_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  const int dim = dim_of(args.attrs, static_cast<int>(x.sizes.size()));
  return {ops::to(sum_from_here(args.grads[0], dim), x.dtype)};
}

// A running product and zeros: before the first zero it is a quotient, at the first zero the product of the
// others, after it there is no change.
struct RunningProduct {
  Tensor x, before_zero, at_first_zero;
  Tensor safe;    // x with zeros replaced by ones
  Tensor others;  // running product with the first zero replaced by one

  RunningProduct(const Tensor& input, int dim) : x(input) {
    const Tensor zero = ops::eq(x, Tensor::number(0.0));
    const Tensor zeros_so_far = ops::cumsum(zero, dim);
    before_zero = ops::eq(zeros_so_far, Tensor::number(std::int64_t{0}));
    at_first_zero = ops::logical_and(zero, ops::eq(zeros_so_far, Tensor::number(std::int64_t{1})));
    safe = ops::masked_fill(x, zero, Tensor::number(1.0));
    others = ops::cumprod(ops::masked_fill(x, at_first_zero, Tensor::number(1.0)), dim);
  }
};

// With a zero in x nothing can be divided by. Element (…, k, i) of the result is the product of x_0 … x_i
// without x_k, and 0 for i < k: the derivative of output i by input k, itself right to any order. Quadratic
// in the length.
Tensor products_without_each(const Tensor& x, int dim) {
  const Tensor last = ops::transpose(x, dim, -1);
  const Dim n = last.size(last.rank() - 1);
  const Dim square[] = {n, n};
  const Tensor ones = ops::ones(square, x.dtype());
  const Tensor diagonal = ops::to(ops::tril(ops::triu(ones)), DType::Bool);
  const Tensor without = ops::where(diagonal, Tensor::number(1.0), ops::unsqueeze(last, -2));
  return ops::cumprod(without, without.rank() - 1) * ops::triu(ones);
}

// In any example of a batch: what is done then is right for those without a zero, too.
bool has_zero(const Tensor& x) {
  return ops::any(ops::eq(levels::innermost(x), Tensor::number(std::int64_t{0}))).item_bool();
}

// Sums `weights` times the derivatives over `over`: -1 over the outputs, -2 over the inputs.
Tensor weigh_products(const Tensor& x, const Tensor& weights, int dim, int over) {
  const Tensor last = ops::unsqueeze(ops::transpose(weights, dim, -1), over == -1 ? -2 : -1);
  const Tensor terms = products_without_each(x, dim) * last;
  const Dim dims[] = {over};
  return ops::transpose(ops::sum(terms, dims), dim, -1);
}

Tensors cumprod_vjp(const VjpArgs& args) {
  const Tensor& grad = args.grads[0];
  const TensorType& type = args.input_types[0];
  const int dim = dim_of(args.attrs, static_cast<int>(type.sizes.size()));
  const Tensor x = ops::to(args.inputs[0], grad.dtype());
  if (x.rank() > 0 && has_zero(x)) return {ops::to(weigh_products(x, grad, dim, -1), type.dtype)};
  const RunningProduct product(x, dim);
  const Tensor quotient = sum_from_here(grad * ops::cumprod(product.x, dim), dim) / product.safe;
  const Tensor at_zero = sum_from_here(grad * product.others, dim);
  const Tensor zero = ops::zeros_like(grad);
  return {ops::to(ops::where(product.before_zero, quotient, ops::where(product.at_first_zero, at_zero, zero)),
                  type.dtype)};
}

Tensors cumprod_jvp(const JvpArgs& args) {
  const Tensor tangent = ops::to(args.tangents[0], args.outputs[0].dtype());
  const int dim = dim_of(args.attrs, tangent.rank());
  const Tensor x = ops::to(args.inputs[0], tangent.dtype());
  if (x.rank() > 0 && has_zero(x)) return {weigh_products(x, tangent, dim, -2)};
  const RunningProduct product(x, dim);
  const Tensor zero = ops::zeros_like(tangent);
  const Tensor ratios = ops::where(product.before_zero, tangent / product.safe, zero);
  const Tensor at_zero = ops::cumsum(ops::where(product.at_first_zero, tangent, zero), dim);
  return {
      ops::where(product.before_zero, args.outputs[0] * ops::cumsum(ratios, dim), product.others * at_zero)};
}

}  // namespace

void add_scan_ops(OpTable& table) {
  table.add({
      .signature = Signature::parse("cumsum(x: tensor, dim: index, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation = "Running sums along `dim`. Bools and integers add up as i64.",
      .example = ">>> cumsum(tensor([1, 2, 3]), dim=0).tolist()\n[1, 3, 6]",
      .infer = infer_scan,
      .eager = scan_eager<Add>,
      .vjp = cumsum_vjp,
      .jvp = ops::linear_jvp,
      .batch = ops::batch_index,
      .lowering = Lowering::Library,
      .traits = kInplace,
      .onnx = "CumSum",
  });
  table.add({
      .signature = Signature::parse("cumprod(x: tensor, dim: index, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation = "Running products along `dim`. Bools and integers multiply as i64.",
      .example = ">>> cumprod(tensor([1, 2, 3, 4]), dim=0).tolist()\n[1, 2, 6, 24]",
      .infer = infer_scan,
      .eager = scan_eager<Multiply>,
      .vjp = cumprod_vjp,
      .jvp = cumprod_jvp,
      .batch = ops::batch_index,
      .saves = saves_input(0),
      .lowering = Lowering::Library,
      .traits = kInplace,
  });
}

}  // namespace kiln
