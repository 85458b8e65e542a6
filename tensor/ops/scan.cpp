// Owns running sums and products: one after the other along a dimension, floats below f64 carried in f64.
#include <algorithm>

#include "tensor/cpu/copy.h"
#include "tensor/cpu/sequence_shape.h"
#include "tensor/levels/wrapper.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"

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

// Integers wrap.
template <class C, class T, class Carry>
void scan(const T* from, T* to, const cpu::SequenceShape& shape, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kStrip = 256;
  const std::int64_t strips = (shape.inner + kStrip - 1) / kStrip;
  Carry carry[kStrip];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % strips * kStrip;
    const std::int64_t width = std::min(kStrip, shape.inner - first);
    std::fill_n(carry, width, C::template kStart<Carry>);
    std::int64_t at = unit / strips * shape.count * shape.inner + first;
    for (std::int64_t i = 0; i < shape.count; ++i, at += shape.inner) {
      for (std::int64_t w = 0; w < width; ++w) {
        carry[w] = C::apply(carry[w], static_cast<Carry>(from[at + w]));
        to[at + w] = static_cast<T>(carry[w]);
      }
    }
  }
}

// Rows [begin, end) along memory, several side by side: each step of one waits for the one before.
template <class C, class T, class Carry>
void scan_rows(const T* from, T* to, std::int64_t count, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTogether = 4;
  std::int64_t row = begin;
  for (; row + kTogether <= end; row += kTogether) {
    const T* in = from + row * count;
    T* out = to + row * count;
    Carry carry[kTogether];
    std::fill_n(carry, kTogether, C::template kStart<Carry>);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t r = 0; r < kTogether; ++r) {
        carry[r] = C::apply(carry[r], static_cast<Carry>(in[r * count + i]));
        out[r * count + i] = static_cast<T>(carry[r]);
      }
    }
  }
  for (; row < end; ++row) {
    Carry carry = C::template kStart<Carry>;
    for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
      carry = C::apply(carry, static_cast<Carry>(from[i]));
      to[i] = static_cast<T>(carry);
    }
  }
}

template <class C>
Tensor scan_along(const Tensor& x, int dim) {
  const Tensor rows = x.is_contiguous() ? x : cpu::contiguous_copy(x, x.dtype());
  const Tensor result = Tensor::empty(x.sizes(), x.dtype(), x.device());
  if (x.numel() == 0) return result;
  const cpu::SequenceShape shape(x, dim);
  const auto run = [&]<class T, class Carry>() {
    const T* from = rows.data<T>();
    T* to = result.writable<T>();
    const std::int64_t units = shape.outer * ((shape.inner + 255) / 256);
    const std::int64_t work = shape.count * std::min<std::int64_t>(shape.inner, 256);
    parallel_for(units, std::max<std::int64_t>(1, 16384 / work), [&](std::int64_t begin, std::int64_t end) {
      if (shape.inner == 1) return scan_rows<C, T, Carry>(from, to, shape.count, begin, end);
      scan<C, T, Carry>(from, to, shape, begin, end);
    });
  };
  if (x.dtype() == DType::I64) run.template operator()<std::int64_t, std::uint64_t>();
  if (x.dtype() == DType::F32) run.template operator()<float, double>();
  if (x.dtype() == DType::F64) run.template operator()<double, double>();
  return result;
}

// ---- Rules -----------------------------------------------------------------------------------------------

DType scan_dtype(DType x, const Attrs& attrs) { return ops::dtype_or(attrs, is_float(x) ? x : DType::I64); }

int dim_of(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

std::vector<TensorType> infer_scan(std::span<const TensorType> in, const Attrs& attrs) {
  dim_of(attrs, static_cast<int>(in[0].sizes.size()));
  return {{scan_dtype(in[0].dtype, attrs), in[0].device, in[0].sizes, false}};
}

template <class C>
Tensors scan_eager(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = scan_dtype(in[0].dtype(), attrs);
  const DType computed = is_float(dtype) ? ops::compute_dtype(dtype) : DType::I64;
  const Tensor x = ops::cast(ops::cast(in[0], dtype), computed);
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
      .traits = kLinear | kInplace,
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
