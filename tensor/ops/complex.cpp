// Rows that make complex numbers of their parts, and take them apart.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_parts.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using rules::apply_one;

[[noreturn]] void refuse(std::string_view op, std::string_view what, DType dtype, std::string_view help) {
  throw OpError(ErrorKind::DType, fmt::format("{}: expects {}, got {}", op, what, name(dtype)), {0},
                std::string(help));
}

// ---- complex ----

DType joined_dtype(std::span<const TensorType> inputs, bool only_numbers) {
  SmallVector<OperandType, 2> types;
  for (const TensorType& each : inputs) {
    if (is_complex(each.dtype)) {
      refuse("complex", "real and imaginary parts, which are real numbers", each.dtype,
             "add complex numbers: z + 1j * w");
    }
    types.push_back({each.dtype, each.is_number, !each.sizes.empty()});
  }
  const DType promoted = promote_operands({types.data(), types.size()}, only_numbers);
  return complex_of(is_float(promoted) ? promoted : default_float());
}

std::vector<TensorType> complex_infer(std::span<const TensorType> inputs, const Attrs&) {
  const bool only_numbers = inputs[0].is_number && inputs[1].is_number;
  const Device device = inputs[inputs[0].is_number ? 1 : 0].device;
  return {{only_numbers ? DType::C128 : joined_dtype(inputs, only_numbers), device,
           broadcast(inputs[0].sizes, inputs[1].sizes, "complex")}};
}

// The gradient of an operand from the part of the result's.
Tensor of_operand(const Tensor& g, const TensorType& type) {
  return ops::to(ops::sum_to(g, type.sizes), type.dtype);
}
Tensors complex_vjp(const VjpArgs& args) {
  Tensors result(2);
  const Tensor& g = args.grads[0];
  if (args.needs[0]) result[0] = of_operand(ops::real(g), args.input_types[0]);
  if (args.needs[1]) result[1] = of_operand(ops::imag(g), args.input_types[1]);
  return result;
}
Tensors complex_jvp(const JvpArgs& args) {
  const auto tangent = [&](std::size_t i) {
    return args.tangents[i] ? args.tangents[i] : Tensor::number(0.0);
  };
  const Tensor joined = ops::complex(tangent(0), tangent(1));
  return {ops::to(ops::expand(joined, args.outputs[0].sizes()), args.outputs[0].dtype())};
}
Tensors complex_batch(const BatchArgs& args) {
  int rank = 0;
  for (std::size_t i = 0; i < 2; ++i)
    rank = std::max(rank, args.inputs[i].rank() - (args.batched[i] ? 1 : 0));
  Tensor operands[2];
  for (std::size_t i = 0; i < 2; ++i)
    operands[i] = args.batched[i] ? rules::pad_rank(args.inputs[i], rank) : args.inputs[i];
  return kiln::bind(args.op, operands, args.attrs);
}

// ---- real, imag, view_as_real, view_as_complex ----

DType dtype_of_real(DType input, const Attrs&) { return is_complex(input) ? part_of(input) : input; }
DType dtype_of_part(DType input, const Attrs& attrs) {
  if (is_complex(input)) return part_of(input);
  refuse(attrs.op()->name(), "a complex tensor", input,
         "a tensor of real numbers has no imaginary parts: `zeros_like(x)` is as large");
}
DType dtype_of_pairs(DType input, const Attrs&) {
  if (input == DType::F32 || input == DType::F64) return complex_of(input);
  refuse("view_as_complex", "pairs of f32 or f64", input,
         is_complex(input) ? "it is a complex tensor already" : "convert them first: x.to(f32)");
}

// Places counted in parts, of which each element has two.
Layout in_parts(const Layout& z) {
  Layout layout = z;
  layout.offset = z.offset * 2;
  for (Dim& stride : layout.strides) stride = stride * 2;
  return layout;
}
std::vector<Layout> real_layout(const Layout& z, const Attrs&) { return {in_parts(z)}; }
std::vector<Layout> imag_layout(const Layout& z, const Attrs&) {
  Layout layout = in_parts(z);
  layout.offset = layout.offset + 1;
  return {layout};
}
std::vector<Layout> pairs_layout(const Layout& z, const Attrs&) {
  Layout layout = in_parts(z);
  layout.sizes.push_back(2);
  layout.strides.push_back(1);
  return {layout};
}

// Two parts side by side from even places on.
bool are_pairs(const Layout& x) {
  if (x.strides.back() != 1 || x.offset % 2 != 0) return false;
  for (std::size_t d = 0; d + 1 < x.strides.size(); ++d) {
    if (x.sizes[d] != 1 && x.strides[d] % 2 != 0) return false;
  }
  return true;
}
std::vector<Layout> joined_layout(const Layout& x, const Attrs&) {
  if (x.sizes.empty() || x.sizes.back() != 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("view_as_complex: the last dimension must be pairs, of size 2; sizes are {}",
                              to_string(x.sizes)),
                  {0}, "put the parts side by side: stack([re, im], -1), or join them: complex(re, im)");
  }
  if (count_elements(x.sizes) != 0 && !are_pairs(x)) {
    throw OpError(ErrorKind::Value,
                  "view_as_complex: the two parts of each element do not lie side by side in memory", {0},
                  "copy them first: x.contiguous(), or join them: complex(x[..., 0], x[..., 1])");
  }
  Layout layout{Dims(x.sizes.begin(), x.sizes.end() - 1), Dims(x.strides.begin(), x.strides.end() - 1),
                x.offset / 2};
  for (std::size_t d = 0; d < layout.strides.size(); ++d)
    layout.strides[d] = layout.sizes[d] == 1 ? Dim(1) : layout.strides[d] / 2;
  return {layout};
}

template <ViewFn F>
std::vector<TensorType> infer_part(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<TensorType> types = rules::infer_view<F>(inputs, attrs);
  for (TensorType& each : types) each.dtype = attrs.op()->dtype_of_view(inputs[0].dtype, attrs);
  return types;
}

Tensor real_undo(const Tensor& base, const Tensor& updated, const Attrs&, int) {
  return is_complex(base.dtype()) ? ops::complex(updated, ops::imag(base)) : updated;
}
Tensor imag_undo(const Tensor& base, const Tensor& updated, const Attrs&, int) {
  return ops::complex(ops::real(base), updated);
}
Tensor pairs_undo(const Tensor&, const Tensor& updated, const Attrs&, int) {
  return ops::complex(ops::select(updated, -1, 0), ops::select(updated, -1, 1));
}
Tensor joined_undo(const Tensor&, const Tensor& updated, const Attrs&, int) {
  return ops::view_as_real(updated);
}

Tensors real_vjp(const VjpArgs& args) {
  if (!is_complex(args.input_types[0].dtype)) return {args.grads[0]};
  return {ops::complex(args.grads[0], Tensor::number(0.0))};
}
Tensors imag_vjp(const VjpArgs& args) { return {ops::complex(Tensor::number(0.0), args.grads[0])}; }
Tensors pairs_vjp(const VjpArgs& args) { return {pairs_undo({}, args.grads[0], args.attrs, 0)}; }
Tensors joined_vjp(const VjpArgs& args) { return {ops::view_as_real(args.grads[0])}; }

// A tangent, or a batch, may lie in another way than what the program gave.
Tensor as_pairs(const Tensor& x) { return are_pairs(x.layout()) ? x : ops::clone(x); }
Tensors joined_jvp(const JvpArgs& args) { return {ops::view_as_complex(as_pairs(args.tangents[0]))}; }
Tensors joined_batch(const BatchArgs& args) { return {ops::view_as_complex(as_pairs(args.inputs[0]))}; }

Op part_view(std::string_view signature, std::string_view documentation, std::string_view example,
             ViewFn view, InferFn infer, UndoFn undo, VjpFn vjp) {
  return {.signature = Signature::parse(signature),
          .family = "complex",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .view = view,
          .view_dtype = dtype_of_part,
          .undo = undo,
          .vjp = vjp,
          .jvp = rules::jvp_linear,
          .batch = rules::batch_through,
          .lowering = Lowering::View,
          .traits = kCheapToRecompute,
          .onnx = onnx_rules::pairs,
          .complex = ComplexRule::Moves};
}

void add_views(OpTable& table) {
  Op real =
      part_view("real(z: tensor)",
                "A view of the real parts: what is written into it is written into z. Of real numbers they "
                "themselves.",
                ">>> real(complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))).tolist()\n[1.0, 2.0]", real_layout,
                infer_part<real_layout>, real_undo, real_vjp);
  real.view_dtype = dtype_of_real;
  real.onnx = onnx_rules::real_part;
  real.identity = {.kind = Identity::Kind::TakesPart, .part = 0};
  table.add(std::move(real));
  Op imaginary = part_view("imag(z: tensor)",
                           "A view of the imaginary parts: what is written into it is written into z.",
                           ">>> imag(complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))).tolist()\n[3.0, 4.0]",
                           imag_layout, infer_part<imag_layout>, imag_undo, imag_vjp);
  imaginary.onnx = onnx_rules::imaginary_part;
  imaginary.identity = {.kind = Identity::Kind::TakesPart, .part = 1};
  table.add(std::move(imaginary));
  Op pairs = part_view(
      "view_as_real(z: tensor)",
      "A view with a last dimension of two: real and imaginary part of each element.",
      ">>> view_as_real(complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))).tolist()\n[[1.0, 3.0], [2.0, 4.0]]",
      pairs_layout, infer_part<pairs_layout>, pairs_undo, pairs_vjp);
  pairs.traits |= kShowsAll;
  table.add(std::move(pairs));
  Op joined =
      part_view("view_as_complex(x: tensor)",
                "A view of pairs, along the last dimension, as complex numbers: f32 as c64, f64 as c128.",
                ">>> view_as_complex(tensor([[1.0, 3.0], [2.0, 4.0]])).imag().tolist()\n[3.0, 4.0]",
                joined_layout, infer_part<joined_layout>, joined_undo, joined_vjp);
  joined.view_dtype = dtype_of_pairs;
  joined.jvp = joined_jvp;
  joined.batch = joined_batch;
  joined.traits |= kShowsAll;
  table.add(std::move(joined));
}

// ---- conj, angle, polar ----

std::vector<TensorType> conj_infer(std::span<const TensorType> inputs, const Attrs&) {
  return {rules::with_dtype(inputs[0], inputs[0].dtype)};
}
Tensors conj_body(const Op&, Inputs inputs, const Attrs&) { return {inputs[0]}; }
Tensors conj_of_complex(const Op&, Inputs inputs, const Attrs&) {
  return {joined(conjugate(parts_of(inputs[0])))};
}

std::vector<TensorType> angle_infer(std::span<const TensorType> inputs, const Attrs&) {
  const DType dtype = inputs[0].dtype;
  return {rules::with_dtype(inputs[0],
                            is_float(dtype) ? dtype : part_of(is_complex(dtype) ? dtype : default_float()))};
}
// pi of negative numbers, 0 of the others, nan of nan.
Tensors angle_body(const Op&, Inputs inputs, const Attrs&) {
  return {ops::atan2(ops::zeros_like(inputs[0]), inputs[0])};
}
Tensors angle_of_complex(const Op&, Inputs inputs, const Attrs&) { return {angle(parts_of(inputs[0]))}; }

std::vector<TensorType> polar_infer(std::span<const TensorType> inputs, const Attrs&) {
  return {{joined_dtype(inputs, false), inputs[inputs[0].is_number ? 1 : 0].device,
           broadcast(inputs[0].sizes, inputs[1].sizes, "polar")}};
}
Tensors polar_body(const Op&, Inputs inputs, const Attrs&) {
  return {ops::complex(inputs[0] * ops::cos(inputs[1]), inputs[0] * ops::sin(inputs[1]))};
}

Op composite(std::string_view signature, std::string_view documentation, std::string_view example,
             InferFn infer, BodyFn body, ComplexRule complex) {
  return {.signature = Signature::parse(signature),
          .family = "complex",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = body,
          .vjp = Rule<VjpFn>::none(kComposite),
          .jvp = Rule<JvpFn>::none(kComposite),
          .batch = Rule<BatchFn>::none(kComposite),
          .complex = complex};
}

}  // namespace

void add_complex_ops(OpTable& table) {
  table.add({.signature = Signature::parse("complex(real: tensor, imag: tensor)"),
             .family = "complex",
             .documentation = "Complex numbers of these parts, which broadcast: c128 of f64, else c64.",
             .example = ">>> complex(tensor([1.0, 2.0]), 0.5).imag().tolist()\n[0.5, 0.5]",
             .infer = complex_infer,
             .vjp = complex_vjp,
             .jvp = complex_jvp,
             .batch = complex_batch,
             .lowering = Lowering::Library,
             .identity = {.kind = Identity::Kind::JoinsParts},
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::joined_parts,
             .complex = ComplexRule::Moves});
  add_views(table);
  table.add(composite("conj(z: tensor)",
                      "The conjugate, with imaginary parts negated; a tensor of real numbers is its own.",
                      ">>> conj(complex(tensor([1.0]), tensor([2.0]))).imag().tolist()\n[-2.0]", conj_infer,
                      conj_body, conj_of_complex));
  table.add(composite("angle(z: tensor)",
                      "The angle of each element with the positive real axis, in (-pi, pi]; 0 of 0.",
                      ">>> angle(complex(tensor([0.0]), tensor([2.0]))).tolist()\n[1.5707963705062866]",
                      angle_infer, angle_body, angle_of_complex));
  table.add(composite("polar(abs: tensor, angle: tensor)",
                      "Complex numbers of these absolute values and angles in radians, which broadcast.",
                      ">>> polar(tensor([2.0]), tensor([0.0])).real().tolist()\n[2.0]", polar_infer,
                      polar_body, ComplexRule::none("absolute values and angles are real numbers")));
}

namespace ops {

Tensor complex(const Tensor& real, const Tensor& imaginary) {
  static const Op& row = op_named("complex");
  if (real.is_number() && imaginary.is_number() && !real.is_symbol() && !imaginary.is_symbol())
    return Tensor::number(Complex<double>{real.item_float(), imaginary.item_float()});
  return apply_one(row, {real, imaginary});
}
Tensor real(const Tensor& z) {
  static const Op& row = op_named("real");
  return apply_one(row, {z});
}
Tensor imag(const Tensor& z) {
  static const Op& row = op_named("imag");
  return apply_one(row, {z});
}
Tensor view_as_real(const Tensor& z) {
  static const Op& row = op_named("view_as_real");
  return apply_one(row, {z});
}
Tensor view_as_complex(const Tensor& x) {
  static const Op& row = op_named("view_as_complex");
  return apply_one(row, {x});
}
Tensor conj(const Tensor& z) {
  static const Op& row = op_named("conj");
  return is_complex(z.dtype()) ? apply_one(row, {z}) : z;
}

}  // namespace ops
}  // namespace kiln
