// Owns convolutions as three primitives: with <y, convolution(x, w)> = T(x, w, y), linear in each, they are
// the derivatives of T by y, x and w. So the derivatives of each are the other two, and so are theirs.
#include "tensor/ops/convolution.h"
#include "tensor/onnx/rules.h"

#include <algorithm>

#include "tensor/ops/complex_rules.h"
#include "tensor/ops/conv_rules.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using ops::conv_options;
using ops::ConvOptions;
using ops::spatial_sizes;

// ---- Type rules ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_convolution(std::span<const TensorType> in, const Attrs& attrs) {
  const ConvOptions options = conv_options(attrs, in[0].sizes.size() < 2 ? 0 : in[0].sizes.size() - 2);
  const TensorType type = ops::convolved_type(in[0], in[1], options, attrs);
  if (!in[2].is_number) ops::check_conv_bias(in[2], in[0], in[1].sizes[0], attrs);
  return {type};
}

std::vector<TensorType> infer_input(std::span<const TensorType> in, const Attrs& attrs) {
  const ConvOptions options = conv_options(attrs, in[0].sizes.size() < 2 ? 0 : in[0].sizes.size() - 2);
  return {ops::convolution_input_type(in[0], in[1], attrs.get<Dims>("sizes"), options, attrs)};
}

std::vector<TensorType> infer_weight(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType& x = in[0];
  const TensorType& y = in[1];
  const ConvOptions options = conv_options(attrs, x.sizes.size() < 2 ? 0 : x.sizes.size() - 2);
  const Dims& kernel = attrs.get<Dims>("sizes");
  if (x.sizes.size() < 3 || y.sizes.size() != x.sizes.size() || kernel.size() + 2 != x.sizes.size() ||
      x.sizes[0] != y.sizes[0] || x.sizes[1] % options.groups != 0 || y.sizes[1] % options.groups != 0) {
    throw OpError(ErrorKind::Shape,
                  ops::plain_name(attrs) + ": x " + to_string(x) + " and y " + to_string(y) +
                      " are not both sides of a convolution of " + std::to_string(options.groups) +
                      " groups by a kernel of " + to_string(kernel),
                  {0, 1}, "give x [n, channels, ...], y [n, channels, ...] and the kernel's sizes");
  }
  TensorType weight{x.dtype, x.device, Dims{y.sizes[1], x.sizes[1] / options.groups}, false};
  weight.sizes.append(kernel.begin(), kernel.end());
  ops::convolution_input_type(y, weight, spatial_sizes(x.sizes), options, attrs);
  return {weight};
}

// ---- Rows ------------------------------------------------------------------------------------------------

Op primitive(std::string_view signature, std::string_view documentation, std::string_view example) {
  Op row{.signature = Signature::parse(signature),
         .family = "nn",
         .documentation = documentation,
         .example = example,
         .saves = saves_input(0) | saves_input(1),
         .saves_by_input = {saves_input(1), saves_input(0), kSavesNothing},
         .lowering = Lowering::Library,
         .complex = complex_rules::multilinear};
  return row;
}

}  // namespace

void add_convolution_ops(OpTable& table) {
  Op forward = primitive(
      "convolution(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: dims = 0, "
      "dilation: dims = 1, groups: int = 1)",
      "The sum of products of a weight [out, channels / groups, ...] and the windows of x [n, channels, "
      "...], "
      "plus bias: what `conv1d` and `conv2d` are written over.",
      ">>> convolution(ones(1, 1, 4), tensor([[[1.0, 2.0]]])).tolist()\n[[[3.0, 3.0, 3.0]]]");
  forward.infer = infer_convolution;
  forward.products = [](Inputs in) -> std::int64_t {
    return in[1].numel() / std::max<Dim>(in[1].size(0), 1);
  };
  forward.lowering = lowering::Library{};
  forward.vjp = rules::convolution_vjp;
  forward.jvp = rules::convolution_jvp;
  forward.batch = rules::convolution_batch;
  forward.onnx = onnx_rules::convolution;
  forward.traits = kLowPrecision;
  forward.complex = complex_rules::convolution;
  table.add(std::move(forward));
  Op input = primitive(
      "convolution_input(y: tensor, weight: tensor, sizes: dims, stride: dims = 1, padding: dims = 0, "
      "dilation: dims = 1, groups: int = 1)",
      "The transposed convolution: the gradient of `convolution` by its x, whose spatial sizes are `sizes`, "
      "from one by its result y.",
      ">>> convolution_input(ones(1, 1, 3), tensor([[[1.0, 2.0]]]), sizes=4).tolist()\n[[[1.0, 3.0, 3.0, "
      "2.0]]]");
  input.infer = infer_input;
  input.lowering = lowering::Library{};
  input.vjp = rules::convolution_input_vjp;
  input.jvp = rules::convolution_input_jvp;
  input.batch = rules::convolution_input_batch;
  input.onnx = onnx_rules::convolution_input;
  table.add(std::move(input));
  Op weight = primitive(
      "convolution_weight(x: tensor, y: tensor, sizes: dims, stride: dims = 1, padding: dims = 0, dilation: "
      "dims = 1, groups: int = 1)",
      "The gradient of `convolution` by its weight, whose spatial sizes are `sizes`, from x and one by its "
      "result y.",
      ">>> convolution_weight(ones(1, 1, 4), ones(1, 1, 3), sizes=2).tolist()\n[[[3.0, 3.0]]]");
  weight.infer = infer_weight;
  weight.vjp = rules::convolution_weight_vjp;
  weight.jvp = rules::convolution_weight_jvp;
  weight.batch = rules::convolution_weight_batch;
  weight.onnx = onnx_rules::convolution_weight;
  table.add(std::move(weight));
}

namespace ops {

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  static const Op& row = OpTable::get().at("convolution");
  return rules::apply_one(row, {x, weight, bias},
                          {options.stride, options.padding, options.dilation, options.groups});
}

Tensor convolution_input(const Tensor& y, const Tensor& weight, const Dims& sizes,
                         const ConvOptions& options) {
  static const Op& row = OpTable::get().at("convolution_input");
  return rules::apply_one(row, {y, weight},
                          {sizes, options.stride, options.padding, options.dilation, options.groups});
}

Tensor convolution_weight(const Tensor& x, const Tensor& y, const Dims& sizes, const ConvOptions& options) {
  static const Op& row = OpTable::get().at("convolution_weight");
  return rules::apply_one(row, {x, y},
                          {sizes, options.stride, options.padding, options.dilation, options.groups});
}

}  // namespace ops

}  // namespace kiln
