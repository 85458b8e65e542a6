// What the rows of the linear algebra family share.
#include <fmt/format.h>

#include "tensor/ops/linalg.h"

namespace kiln::linalg {

namespace {

// `matrix_norm` of its form "matrix_norm.number".
std::string_view name_of(const Attrs& attrs) {
  const std::string_view name = attrs.op()->name();
  return name.substr(0, name.find('.'));
}

}  // namespace

void need_matrices(const TensorType& x, const Attrs& attrs, int operand) {
  if (x.sizes.size() >= 2) return;
  throw OpError(
      ErrorKind::Shape,
      fmt::format("{}: expects a matrix or a batch of matrices, got {}", name_of(attrs), to_string(x)),
      {operand}, x.sizes.size() == 1 ? "`unsqueeze` makes a matrix of a vector" : "");
}

void need_field(const TensorType& x, const Attrs& attrs, int operand) {
  if (x.dtype == DType::F32 || x.dtype == DType::F64 || is_complex(x.dtype)) return;
  throw OpError(
      ErrorKind::DType,
      fmt::format("{}: {}, got {}", name_of(attrs),
                  is_float(x.dtype) ? "low precision is not supported" : "expects floats", to_string(x)),
      {operand}, "convert it with `.to(f32)`");
}

void need_square(const TensorType& x, const Attrs& attrs, int operand) {
  need_matrices(x, attrs, operand);
  const std::size_t rank = x.sizes.size();
  if (x.sizes[rank - 2] == x.sizes[rank - 1]) return;
  throw OpError(ErrorKind::Shape,
                fmt::format("{}: expects square matrices, got {}: {} by {}", name_of(attrs), to_string(x),
                            x.sizes[rank - 2], x.sizes[rank - 1]),
                {operand});
}

void need_one_dtype(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs[0].dtype == inputs[1].dtype) return;
  throw OpError(ErrorKind::DType,
                fmt::format("{}: operands have dtypes {} and {}", name_of(attrs), name(inputs[0].dtype),
                            name(inputs[1].dtype)),
                {0, 1},
                fmt::format("convert one with `.to({})`", name(promote(inputs[0].dtype, inputs[1].dtype))));
}

std::vector<TensorType> infer_square(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_square(inputs[0], attrs);
  need_field(inputs[0], attrs);
  return {inputs[0]};
}

bool is_vector_side(const Dims& a, const Dims& b) {
  return b.size() == 1 || (a.size() == b.size() + 1 && std::equal(b.begin(), b.end(), a.begin()));
}

Op composite_row(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer, BodyFn body, std::uint32_t effects) {
  return {.signature = Signature::parse(signature),
          .family = kFamily,
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = body,
          .vjp = Rule<VjpFn>::none(kComposite),
          .jvp = Rule<JvpFn>::none(kComposite),
          .batch = Rule<BatchFn>::none(kComposite),
          .effects = effects,
          .complex = ComplexRule::Computes};
}

Dims batch_sizes(std::span<const Dim> sizes) { return Dims(sizes.begin(), sizes.end() - 2); }
Dim rows_of(const Tensor& x) { return x.size(x.rank() - 2); }
Dim columns_of(const Tensor& x) { return x.size(x.rank() - 1); }

Tensor t(const Tensor& x) { return ops::conj(turned(x)); }
Tensor turned(const Tensor& x) { return ops::transpose(x, x.rank() - 2, x.rank() - 1); }
Tensor mm(const Tensor& a, const Tensor& b, const Tensor& c) { return ops::matmul(ops::matmul(a, b), c); }
Tensor column(const Tensor& x) { return ops::unsqueeze(x, x.rank()); }
Tensor row(const Tensor& x) { return ops::unsqueeze(x, x.rank() - 1); }
Tensor column_sums(const Tensor& x) { return ops::sum(x, Dims{x.rank() - 2}, true); }
Tensor diagonal(const Tensor& x) { return ops::diagonal(x, 0, x.rank() - 2, x.rank() - 1); }
Tensor diagonal_matrix(const Tensor& x) {
  static const Op& diag_embed = OpTable::get().at("diag_embed");
  return rules::apply_one(diag_embed, {x});
}
Tensor symmetric(const Tensor& x) { return (x + t(x)) * 0.5; }
Tensor antisymmetric_twice(const Tensor& x) { return x - t(x); }
Tensor lower_half(const Tensor& x) { return (ops::tril(x) + ops::tril(x, -1)) * 0.5; }
Tensor eye(Dim n, const TensorType& like) {
  return diagonal_matrix(ops::ones(Dims{n}, like.dtype, like.device));
}
TensorType real_type(const TensorType& x) {
  return rules::with_dtype(x, is_complex(x.dtype) ? part_of(x.dtype) : x.dtype);
}
Tensor real_part(const Tensor& x) { return is_complex(x.dtype()) ? ops::real(x) : x; }
Tensor times_i(const Tensor& x) { return ops::complex(Tensor::number(0.0), x); }

Tensor pivots_of(const Tensor& re, const Tensor& im) {
  const Tensor size = re * re + im * im;
  const Tensor real = ops::where(ops::eq(im, Tensor::number(0.0)), size, Tensor::number(-1.0));
  const int rows = size.rank() - 2;
  const Tensor most = ops::amax(real, Dims{rows}, true);
  // Where two are as large the first one counts.
  const Tensor is_most = ops::to(ops::eq(real, most), re.dtype());
  const Tensor before = ops::cumsum(is_most, rows);
  const Tensor is_first = ops::logical_and(ops::eq(real, most), ops::eq(before, Tensor::number(1.0)));
  const Tensor held = ops::where(is_first, re, Tensor::number(1.0));
  return ops::where(is_first, 1.0 / held, Tensor::number(0.0));
}
Tensor phase_of_change(const Tensor& change, const Tensor& columns) {
  return column_sums(pivots_of(ops::real(columns), ops::imag(columns)) * ops::imag(change));
}
Tensor gradient_of_phase(const Tensor& turn, const Tensor& columns) {
  return times_i(-(pivots_of(ops::real(columns), ops::imag(columns)) * turn));
}
Tensor divide_or_zero(const Tensor& a, const Tensor& b) {
  const Tensor zero = Tensor::number(0.0);
  const Tensor nothing = ops::logical_and(ops::eq(a, zero), ops::eq(b, zero));
  return ops::where(nothing, zero, a / ops::where(nothing, Tensor::number(1.0), b));
}

Tensors broadcast_batched(const BatchArgs& args) {
  int rank = 0;
  for (std::size_t i = 0; i < 2; ++i)
    rank = std::max(rank, args.inputs[i].rank() - (args.batched[i] ? 1 : 0));
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  for (std::size_t i = 0; i < 2; ++i) {
    if (args.batched[i]) inputs[i] = rules::pad_rank(inputs[i], rank);
  }
  return inputs;
}

}  // namespace kiln::linalg
