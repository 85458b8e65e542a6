// Views that read the bytes of a tensor as elements of another dtype.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using rules::apply_one;

constexpr std::string_view kNoDerivative = "the bytes of a number have no derivative";

DType dtype_asked(DType, const Attrs& attrs) { return attrs.get<DType>("dtype"); }

[[noreturn]] void refuse(std::string sentence, std::string help) {
  throw OpError(ErrorKind::Value, "view: " + std::move(sentence), {0}, std::move(help));
}

// Each element becomes `count` smaller ones, along the last dimension.
Layout taken_apart(Layout layout, Dim count) {
  layout.offset = layout.offset * count;
  for (std::size_t d = 0; d + 1 < layout.strides.size(); ++d) layout.strides[d] = layout.strides[d] * count;
  layout.sizes.back() = layout.sizes.back() * count;
  return layout;
}

// Each `count` elements along the last dimension become one.
Layout put_together(Layout layout, Dim count, DType dtype) {
  if (layout.sizes.back() % count != 0) {
    refuse(fmt::format("{} elements of the last dimension do not fill elements of {}, each as large as {}",
                       to_string(layout.sizes.back()), name(dtype), to_string(count)),
           "convert values instead: x.to(" + std::string(name(dtype)) + ")");
  }
  bool fits = layout.offset % count == 0;
  for (std::size_t d = 0; d + 1 < layout.strides.size(); ++d) {
    fits = fits && (layout.sizes[d] == 1 || layout.strides[d] % count == 0);
    layout.strides[d] = layout.sizes[d] == 1 ? Dim(1) : layout.strides[d] / count;
  }
  if (!fits) {
    refuse(fmt::format("rows do not begin where an element of {} can", name(dtype)),
           "copy it first: x.clone()");
  }
  layout.offset = layout.offset / count;
  layout.sizes.back() = layout.sizes.back() / count;
  return layout;
}

std::vector<Layout> bits_layout(const Layout& input, const Attrs& attrs) {
  const DType from = attrs.get<DType>("from"), to = attrs.get<DType>("dtype");
  const auto before = static_cast<std::int64_t>(size_of(from)),
             after = static_cast<std::int64_t>(size_of(to));
  if (before == after) return {input};
  if (input.sizes.empty()) {
    refuse(fmt::format("a 0-d tensor of {} is no tensor of {}, whose elements have another size", name(from),
                       name(to)),
           "give it a dimension: x.unsqueeze(0)");
  }
  if (input.strides.back() != 1 && input.sizes.back() != 1) {
    refuse(
        fmt::format("elements of the last dimension do not lie side by side, as those of {} must", name(to)),
        "copy it first: x.contiguous()");
  }
  Layout layout = input;
  layout.strides.back() = 1;
  return {before > after ? taken_apart(layout, before / after) : put_together(layout, after / before, to)};
}

void check_dtypes(DType x, DType from, DType to) {
  if (x != from)
    throw OpError(ErrorKind::DType, fmt::format("view_bits: expects {}, got {}", name(from), name(x)), {0});
  if (to == DType::Bool && x != DType::Bool) {
    throw OpError(ErrorKind::DType, "view: not every byte is a bool", {0},
                  "ask which elements are not 0: x != 0");
  }
}

Attrs bits_attrs(DType from, DType to) {
  Attrs attrs(op_named("view_bits"));
  attrs.set("dtype", to).set("from", from);
  return attrs;
}
Tensor read_as(const Tensor& x, DType dtype) {
  return std::move(kiln::bind(op_named("view_bits"), {&x, 1}, bits_attrs(x.dtype(), dtype))[0]);
}

std::vector<TensorType> infer_as(const TensorType& x, DType from, const Attrs& attrs) {
  const DType to = attrs.get<DType>("dtype");
  check_dtypes(x.dtype, from, to);
  Layout layout = bits_layout(rules::contiguous_layout(x.sizes), bits_attrs(from, to)).front();
  return {{to, x.device, std::move(layout.sizes)}};
}
std::vector<TensorType> bits_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return infer_as(inputs[0], attrs.get<DType>("from"), attrs);
}
std::vector<TensorType> dtype_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return infer_as(inputs[0], inputs[0].dtype, attrs);
}
Tensors dtype_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const DType from = inputs[0].dtype(), to = attrs.get<DType>("dtype");
  check_dtypes(from, from, to);
  return {read_as(inputs[0], to)};
}
Tensor bits_undo(const Tensor&, const Tensor& updated, const Attrs& attrs, int) {
  return read_as(ops::contiguous(updated), attrs.get<DType>("from"));
}

}  // namespace

void add_view_dtype_ops(OpTable& table) {
  table.add({.signature = Signature::parse("view_bits(x: tensor, dtype: dtype, from: dtype)"),
             .family = "shape",
             .documentation = "`view` of a tensor of dtype `from` as one of `dtype`.",
             .example = ">>> view_bits(tensor([1.0]), i32, f32).tolist()\n[1065353216]",
             .infer = bits_infer,
             .view = bits_layout,
             .view_dtype = dtype_asked,
             .undo = bits_undo,
             .vjp = Rule<VjpFn>::none(kNoDerivative),
             .jvp = Rule<JvpFn>::none(kNoDerivative),
             .batch = rules::batch_through,
             .lowering = Lowering::View,
             .traits = kCheapToRecompute | kShowsAll,
             .onnx = OnnxRule::none("ONNX has no views of other element types"),
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("view.dtype(x: tensor, dtype: dtype)"),
             .family = "shape",
             .documentation =
                 "A view of the same bytes as elements of another dtype. Where its elements have another "
                 "size, the last dimension is as much longer or shorter.",
             .example = ">>> tensor([1.0, -2.0]).view(i32).tolist()\n[1065353216, -1073741824]",
             .infer = dtype_infer,
             .decompose = dtype_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = dtype_body});
}

}  // namespace kiln
