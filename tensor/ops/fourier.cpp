// Fourier transforms along the last dimension: of complex numbers, of real ones, and back to real ones.
#include "tensor/ops/fourier.h"

#include <fmt/format.h>

#include <cmath>

#include "tensor/onnx/rules.h"
#include "tensor/ops/linalg.h"
#include "tensor/ops/rules.h"

namespace kiln {

double fourier_factor(const Attrs& attrs, bool inverse, std::int64_t n) {
  const auto& norm = attrs.get<std::string>("norm");
  const auto count = static_cast<double>(n);
  if (norm == "ortho") return 1 / std::sqrt(count);
  return (norm == "forward") != inverse ? 1 / count : 1;
}

namespace {

using rules::apply_one;

// ---- Types ----

void check_norm(const Attrs& attrs) {
  const auto& norm = attrs.get<std::string>("norm");
  if (norm == "backward" || norm == "ortho" || norm == "forward") return;
  throw OpError(ErrorKind::Value,
                fmt::format("{}: norm is \"backward\", \"ortho\" or \"forward\", not \"{}\"",
                            attrs.op()->name(), norm));
}
// Throws unless it holds lines of pairs; gives how many pairs a line has.
Dim need_pairs(const TensorType& x, const Attrs& attrs) {
  linalg::need_field(x, attrs);
  const std::size_t rank = x.sizes.size();
  if (rank < 2 || x.sizes[rank - 1] != 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: expects pairs (real, imaginary), [..., n, 2], got {}", attrs.op()->name(),
                              to_string(x)),
                  {0}, "`stack([re, im], -1)` makes pairs of two tensors");
  }
  return x.sizes[rank - 2];
}
[[noreturn]] void refuse_length(const TensorType& x, const Attrs& attrs, std::string_view why) {
  throw OpError(ErrorKind::Shape, fmt::format("{}: {} {}", attrs.op()->name(), to_string(x), why), {0});
}

std::vector<TensorType> dft_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_norm(attrs);
  if (need_pairs(inputs[0], attrs) < 1) refuse_length(inputs[0], attrs, "has no numbers to transform");
  return {rules::with_dtype(inputs[0], inputs[0].dtype)};
}

Dim frequencies_of(Dim n) { return floor_div(n, 2) + 1; }

std::vector<TensorType> rdft_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_norm(attrs);
  linalg::need_field(inputs[0], attrs);
  Dims sizes = inputs[0].sizes;
  if (sizes.empty()) refuse_length(inputs[0], attrs, "has no dimension to transform");
  if (sizes.back() < 1) refuse_length(inputs[0], attrs, "has no numbers to transform");
  sizes.back() = frequencies_of(sizes.back());
  sizes.push_back(2);
  return {rules::with_sizes(inputs[0], sizes)};
}

std::vector<TensorType> irdft_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_norm(attrs);
  const Dim count = need_pairs(inputs[0], attrs), n = attrs.get<Dim>("n");
  if (n < 1) {
    throw OpError(ErrorKind::Value, fmt::format("irdft: n is {}, a result has at least one number", n));
  }
  if (count != frequencies_of(n)) {
    refuse_length(
        inputs[0], attrs,
        fmt::format("has {} frequencies, and {} real numbers have {}", count, n, frequencies_of(n)));
  }
  Dims sizes = inputs[0].sizes;
  sizes.pop_back();
  sizes.back() = n;
  return {rules::with_sizes(inputs[0], sizes)};
}

// ---- Derivatives ----
// The transposed transform has the other direction, and is multiplied by the same number.

Attr transposed_norm(const Attrs& attrs) {
  const auto& norm = attrs.get<std::string>("norm");
  return norm == "backward" ? std::string("forward") : norm == "forward" ? std::string("backward") : norm;
}
Tensors dft_vjp(const VjpArgs& args) {
  return {apply_one(op_named("dft"), {args.grads[0]},
                    {!args.attrs.get<bool>("inverse"), transposed_norm(args.attrs)})};
}
// A real number takes part in a frequency and in its mirror image, of which one is there.
Tensors rdft_vjp(const VjpArgs& args) {
  return {apply_one(
      op_named("irdft"), {args.grads[0]},
      {args.input_types[0].sizes.back(), transposed_norm(args.attrs), !args.attrs.get<bool>("doubled")})};
}
Tensors irdft_vjp(const VjpArgs& args) {
  return {apply_one(op_named("rdft"), {args.grads[0]},
                    {transposed_norm(args.attrs), !args.attrs.get<bool>("halved")})};
}

Op fourier_row(std::string_view signature, std::string_view documentation, std::string_view example) {
  return {.signature = Signature::parse(signature),
          .family = "fourier",
          .documentation = documentation,
          .example = example,
          .jvp = rules::jvp_linear,
          .batch = rules::batch_through,
          .lowering = Lowering::Library};
}

}  // namespace

void add_fourier_ops(OpTable& table) {
  Op dft = fourier_row(
      "dft(x: tensor, *, inverse: bool = false, norm: str[\"backward\", \"ortho\", \"forward\"] = "
      "\"backward\")",
      "The discrete Fourier transform of complex numbers, pairs (real, imaginary) in the last dimension, "
      "along "
      "the one before: the sums of x[j] e^(-2 pi i jk / n), with the other sign where `inverse`. `norm` says "
      "what is divided by n: \"backward\" the inverse, \"forward\" the other one; \"ortho\" divides both by "
      "sqrt(n).",
      ">>> dft(tensor([[1.0, 0.0], [0.0, 0.0]])).tolist()\n[[1.0, 0.0], [1.0, 0.0]]");
  dft.infer = dft_infer;
  dft.vjp = dft_vjp;
  dft.onnx = onnx_rules::dft;
  table.add(std::move(dft));

  Op rdft = fourier_row(
      "rdft(x: tensor, *, norm: str[\"backward\", \"ortho\", \"forward\"] = \"backward\", doubled: bool = "
      "false)",
      "The discrete Fourier transform of n real numbers along the last dimension, as the n // 2 + 1 pairs "
      "(real, imaginary) of the frequencies from 0 up; the others are their conjugates. `doubled`: a "
      "frequency "
      "that stands for another one, too, is multiplied by 2.",
      ">>> rdft(tensor([1.0, 1.0, 1.0, 0.0])).tolist()\n[[3.0, 0.0], [0.0, -1.0], [1.0, 0.0]]");
  rdft.infer = rdft_infer;
  rdft.vjp = rdft_vjp;
  rdft.onnx = onnx_rules::rdft;
  table.add(std::move(rdft));

  Op irdft = fourier_row(
      "irdft(x: tensor, n: int, *, norm: str[\"backward\", \"ortho\", \"forward\"] = \"backward\", halved: "
      "bool = false)",
      "The n real numbers whose `rdft` is x. Imaginary parts of the first frequency, and of the last one "
      "where "
      "n is even, do not matter. `halved`: a frequency that stands for another one, too, is divided by 2 "
      "before.",
      ">>> irdft(tensor([[3.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), 4).tolist()\n[1.0, 1.0, 1.0, 0.0]");
  irdft.infer = irdft_infer;
  irdft.vjp = irdft_vjp;
  irdft.onnx = onnx_rules::irdft;
  table.add(std::move(irdft));
}

namespace ops {

Tensor dft(const Tensor& x, bool inverse, const std::string& norm) {
  static const Op& row = op_named("dft");
  return apply_one(row, {x}, {inverse, norm});
}
Tensor rdft(const Tensor& x, const std::string& norm) {
  static const Op& row = op_named("rdft");
  return apply_one(row, {x}, {norm});
}
Tensor irdft(const Tensor& x, Dim n, const std::string& norm) {
  static const Op& row = op_named("irdft");
  return apply_one(row, {x}, {n, norm});
}

}  // namespace ops
}  // namespace kiln
