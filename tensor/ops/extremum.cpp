// Owns max and min in their forms (all, along a dimension with indices, of two tensors), argmax and argmin.
#include <deque>
#include <utility>

#include "tensor/fixed_order.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

using cpu::Combine;
using ops::keeps_dims;

// ---- Finding ---------------------------------------------------------------------------------------------

// ---- argmax, argmin --------------------------------------------------------------------------------------

// An index that may be absent: all dimensions.
Dims index_dims(const TensorType& x, const Attrs& attrs) {
  return ops::reduced_dims(attrs, static_cast<int>(x.sizes.size()));
}

std::vector<TensorType> infer_indices(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims dims = index_dims(in[0], attrs);
  ops::need_elements(in[0], dims, attrs);
  return {{DType::I64, in[0].device, ops::reduced_sizes(in[0].sizes, dims, keeps_dims(attrs)), false}};
}

// The least of the places where the extremum is found.
template <Combine kCombine>
Tensors decompose_indices(const Op&, Inputs in, const Attrs& attrs) {
  const bool along_one = attrs.has("dim") && in[0].rank() > 0;
  const Tensor x = along_one ? in[0] : ops::reshape(in[0], Dims{in[0].numel()});
  const Dims dims = along_one ? ops::reduced_dims(attrs, x.rank()) : Dims{0};
  const Dim count = x.size(static_cast<int>(dims[0]));
  const Tensor extrema = kCombine == Combine::Max ? ops::amax(x, dims, true) : ops::amin(x, dims, true);
  Tensor found = ops::eq(x, extrema);
  if (is_float(x.dtype())) found = ops::logical_or(found, ops::ne(x, x));
  Dims along(static_cast<std::size_t>(x.rank()), 1);
  along[static_cast<std::size_t>(dims[0])] = count;
  const Tensor places = ops::reshape(rules::counting(count, x.device()), along);
  const Tensor first = ops::amin(ops::where(found, places, Tensor::number(count)), dims);
  return {ops::reshape(
      first, ops::reduced_sizes(in[0].sizes(), ops::reduced_dims(attrs, in[0].rank()), keeps_dims(attrs)))};
}

// ---- max.dim, min.dim ------------------------------------------------------------------------------------

std::vector<TensorType> infer_values(std::span<const TensorType> in, const Attrs& attrs) {
  std::vector<TensorType> types = infer_indices(in, attrs);
  types.insert(types.begin(), {in[0].dtype, in[0].device, types[0].sizes, false});
  return types;
}

// The gradient of the values goes to where they came from.
Tensors values_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  if (x.sizes.empty()) return {args.grads[0]};
  const Dims dims = index_dims(x, args.attrs);
  return {ops::scatter_add(ops::zeros(x.sizes, x.dtype, x.device), static_cast<int>(dims[0]),
                           ops::restore_dims(args.outputs[1], x.sizes, dims),
                           ops::restore_dims(args.grads[0], x.sizes, dims))};
}

Tensors values_jvp(const JvpArgs& args) {
  const Tensor& tangent = args.tangents[0];
  const Dims dims = ops::reduced_dims(args.attrs, tangent.rank());
  if (dims.empty()) return {tangent, Tensor()};
  const Tensor places = ops::restore_dims(args.outputs[1], tangent.sizes(), dims);
  return {ops::reshape(ops::gather(tangent, static_cast<int>(dims[0]), places), args.outputs[0].sizes()),
          Tensor()};
}

// ---- max, min of everything and of two
// ---------------------------------------------------------------------

std::vector<TensorType> infer_whole(std::span<const TensorType> in, const Attrs& attrs) {
  Dims all;
  for (std::size_t d = 0; d < in[0].sizes.size(); ++d) all.push_back(static_cast<Dim>(d));
  ops::need_elements(in[0], all, attrs);
  return {{in[0].dtype, in[0].device, {}, false}};
}

Tensors whole_max(const Op&, Inputs in, const Attrs&) { return {ops::amax(in[0])}; }
Tensors whole_min(const Op&, Inputs in, const Attrs&) { return {ops::amin(in[0])}; }

std::vector<TensorType> infer_pair(std::span<const TensorType> in, const Attrs& attrs) {
  static const Op& maximum = OpTable::get().at("maximum");  // has the same types as minimum
  (void)attrs;
  return maximum.infer(in, Attrs(maximum));
}
Tensors pair_max(const Op&, Inputs in, const Attrs&) { return {ops::maximum(in[0], in[1])}; }
Tensors pair_min(const Op&, Inputs in, const Attrs&) { return {ops::minimum(in[0], in[1])}; }

// ---- Rows ------------------------------------------------------------------------------------------------

struct Words {
  std::string_view name, other, adjective;
};

// Texts put together here live as long as the rows.
std::string_view keep_text(std::string text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::move(text));
}

void add_whole(OpTable& table, const Words& words, BodyFn body, BodyFn pair) {
  const std::string name(words.name);
  table.add({
      .signature = Signature::parse(name + "(x: tensor)"),
      .family = "reduce",
      .documentation = keep_text("The " + std::string(words.adjective) + " element; nan wins. " + name +
                                 "(x, dim) gives values and indices along a dimension, " + name +
                                 "(a, b) compares two tensors element by element."),
      .example = keep_text(">>> " + name + "(tensor([3, 3, 3])).item()\n3"),
      .infer = infer_whole,
      .decompose = body,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
  });
  table.add({
      .signature = Signature::parse(name + ".other(x: tensor, other: tensor)"),
      .family = "reduce",
      .documentation = keep_text("The " + std::string(words.adjective) +
                                 " of each pair of elements: " + std::string(words.other) + "(x, other)."),
      .example = keep_text(">>> " + name + "(tensor([1, 5]), tensor([1, 5])).tolist()\n[1, 5]"),
      .infer = infer_pair,
      .decompose = pair,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
  });
}

template <Combine kCombine>
void add_along(OpTable& table, const Words& words) {
  const std::string name(words.name);
  table.add({
      .signature =
          Signature::parse(name + ".dim(x: tensor, dim: index, keepdim: bool = false) -> (values, indices)"),
      .family = "reduce",
      .documentation =
          keep_text("The " + std::string(words.adjective) +
                    " elements along `dim` and the index of the first of each, as a tuple; nan wins."),
      .example = keep_text(">>> values, indices = " + name +
                           "(tensor([[4, 4], [7, 7]]), dim=1)\n>>> (values.tolist(), "
                           "indices.tolist())\n([4, 7], [0, 0])"),
      .infer = infer_values,
      .vjp = values_vjp,
      .jvp = values_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(1),
      .lowering = Lowering::Library,
      .outputs = 2,
      .onnx = onnx_rules::extremum_along,
  });
  const std::string_view reason = "its result is an index";
  table.add({
      .signature = Signature::parse("arg" + name + "(x: tensor, dim: index? = none, keepdim: bool = false)"),
      .family = "reduce",
      .documentation = keep_text("The index of the first " + std::string(words.adjective) +
                                 " element along `dim`, or among all in row-major order; nan wins."),
      .example = keep_text(">>> arg" + name + "(tensor([2, 2, 2])).item()\n0"),
      .infer = infer_indices,
      .decompose = decompose_indices<kCombine>,
      .vjp = Rule<VjpFn>::none(reason),
      .jvp = Rule<JvpFn>::none(reason),
      .batch = ops::batch_optional_index,
      .lowering = Lowering::Reduce,
      .onnx = onnx_rules::place_of_extremum,
  });
}

}  // namespace

void add_extremum_ops(OpTable& table) {
  const Words max{"max", "maximum", "largest"};
  const Words min{"min", "minimum", "smallest"};
  add_whole(table, max, whole_max, pair_max);
  add_along<Combine::Max>(table, max);
  add_whole(table, min, whole_min, pair_min);
  add_along<Combine::Min>(table, min);
}

}  // namespace kiln
