// Owns conv1d, conv2d and the transposed ones: PyTorch's arguments, over the primitives of convolution.cpp.
#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/convolution.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using ops::ConvOptions;
using ops::spatial_sizes;

// ---- Unbatched images: [channels, …] is read as one of a batch -------------------------------------------

template <std::size_t kSpatial>
TensorType as_batch(const TensorType& x, const Attrs& attrs) {
  if (x.sizes.size() == kSpatial + 2) return x;
  if (x.sizes.size() == kSpatial + 1) return rules::with_sizes(x, rules::prepend(1, x.sizes));
  throw OpError(ErrorKind::Shape,
                ops::plain_name(attrs) + ": expects " + std::to_string(kSpatial + 2) +
                    " dimensions, [n, channels, ...], or " + std::to_string(kSpatial + 1) +
                    " without the batch, got " + to_string(x),
                {0});
}

template <std::size_t kSpatial>
void check_weight_rank(const TensorType& weight, const Attrs& attrs) {
  if (weight.sizes.size() == kSpatial + 2) return;
  throw OpError(ErrorKind::Shape,
                ops::plain_name(attrs) + ": expects a weight of " + std::to_string(kSpatial + 2) +
                    " dimensions, got " + to_string(weight),
                {1});
}

TensorType unbatched(TensorType type, bool was_batch) {
  if (!was_batch) type.sizes.erase(type.sizes.begin());
  return type;
}

// Applies `f` to a batch: x itself, or x as the only one of a batch.
template <std::size_t kSpatial, class F>
Tensors on_batch(const Tensor& x, F f) {
  if (x.sizes().size() == kSpatial + 2) return {f(x)};
  return {ops::squeeze(f(ops::unsqueeze(x, 0)), Dims{0})};
}

// ---- conv1d, conv2d --------------------------------------------------------------------------------------

// Padding by words: "same" adds as many zeros as the kernel reaches, the odd one at the end.
struct NamedPadding {
  ConvOptions options;
  Dims extra;  // zeros to add at the end of each dimension

  NamedPadding(const Dims& kernel, const Attrs& attrs) {
    const auto& name = attrs.get<std::string>("padding");
    const std::size_t count = kernel.size();
    options.stride = ops::spatial_list(attrs, "stride", count, 1);
    options.dilation = ops::spatial_list(attrs, "dilation", count, 1);
    options.groups = ops::conv_groups(attrs);
    options.padding.resize(count, 0);
    extra.resize(count, 0);
    if (name == "valid") return;
    const std::string op = ops::plain_name(attrs);
    if (name != "same") {
      throw OpError(ErrorKind::Value,
                    op + ": padding is a size, \"same\" or \"valid\", not \"" + name + "\"");
    }
    for (std::size_t d = 0; d < count; ++d) {
      if (options.stride[d] != 1) {
        throw OpError(ErrorKind::Value, op + ": padding=\"same\" needs a stride of 1", {},
                      "give the padding as a size");
      }
      const Dim total = options.dilation[d] * (kernel[d] - 1);
      options.padding[d] = total / 2;
      extra[d] = total % 2;
    }
  }

  Tensor pad(const Tensor& x) const {
    Dims pads;
    bool any = false;
    for (std::size_t d = extra.size(); d-- > 0;) {
      pads.push_back(0);
      pads.push_back(extra[d]);
      any = any || extra[d] > 0;
    }
    static const Op& row = OpTable::get().at("constant_pad");
    return any ? rules::apply_one(row, {x}, {pads, std::int64_t{0}}) : x;
  }
  TensorType pad(TensorType x) const {
    for (std::size_t d = 0; d < extra.size(); ++d) x.sizes[d + 2] += extra[d];
    return x;
  }
};

template <std::size_t kSpatial>
std::vector<TensorType> infer_conv(std::span<const TensorType> in, const Attrs& attrs) {
  TensorType x = as_batch<kSpatial>(in[0], attrs);
  check_weight_rank<kSpatial>(in[1], attrs);
  ConvOptions options;
  if (attrs.find<std::string>("padding") != nullptr) {
    const NamedPadding named(spatial_sizes(in[1].sizes), attrs);
    options = named.options;
    x = named.pad(x);
  } else {
    options = ops::conv_options(attrs, kSpatial);
  }
  const TensorType type = ops::convolved_type(x, in[1], options, attrs);
  if (!in[2].is_number) ops::check_conv_bias(in[2], x, type.sizes[1], attrs);
  return {unbatched(type, in[0].sizes.size() == kSpatial + 2)};
}

template <std::size_t kSpatial>
Tensors conv(const Op&, Inputs in, const Attrs& attrs) {
  if (attrs.find<std::string>("padding") != nullptr) {
    const NamedPadding named(spatial_sizes(in[1].sizes()), attrs);
    return on_batch<kSpatial>(
        in[0], [&](const Tensor& x) { return ops::convolution(named.pad(x), in[1], in[2], named.options); });
  }
  const ConvOptions options = ops::conv_options(attrs, kSpatial);
  return on_batch<kSpatial>(in[0],
                            [&](const Tensor& x) { return ops::convolution(x, in[1], in[2], options); });
}

// ---- conv_transpose1d, conv_transpose2d ------------------------------------------------------------------

// The spatial sizes of a transposed convolution's result.
Dims transposed_sizes(const Dims& x, const Dims& kernel, const ConvOptions& options, const Attrs& attrs) {
  const Dims extra = ops::spatial_list(attrs, "output_padding", kernel.size(), 0);
  const std::string op = ops::plain_name(attrs);
  Dims sizes;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (extra[d] >= std::max(options.stride[d], options.dilation[d])) {
      throw OpError(ErrorKind::Value,
                    op + ": output_padding must be smaller than the stride or the dilation, it is " +
                        std::to_string(extra[d]),
                    {}, "it chooses among the sizes that a convolution would map to the input's");
    }
    sizes.push_back((x[d + 2] - 1) * options.stride[d] - 2 * options.padding[d] +
                    ops::window_reach(kernel[d], options.dilation[d]) + extra[d]);
    if (x[d + 2] > 0 && sizes[d] > 0) continue;
    throw OpError(ErrorKind::Shape,
                  op + ": dimension " + std::to_string(d + 2) + " of the result would have size " +
                      std::to_string(sizes[d]),
                  {0, 1}, "pad less");
  }
  return sizes;
}

template <std::size_t kSpatial>
std::vector<TensorType> infer_transpose(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType x = as_batch<kSpatial>(in[0], attrs);
  check_weight_rank<kSpatial>(in[1], attrs);
  const ConvOptions options = ops::conv_options(attrs, kSpatial);
  const Dims sizes = transposed_sizes(x.sizes, spatial_sizes(in[1].sizes), options, attrs);
  const TensorType type = ops::convolution_input_type(x, in[1], sizes, options, attrs);
  if (!in[2].is_number) ops::check_conv_bias(in[2], x, type.sizes[1], attrs);
  return {unbatched(type, in[0].sizes.size() == kSpatial + 2)};
}

template <std::size_t kSpatial>
Tensors conv_transpose(const Op&, Inputs in, const Attrs& attrs) {
  const ConvOptions options = ops::conv_options(attrs, kSpatial);
  return on_batch<kSpatial>(in[0], [&](const Tensor& x) {
    const Dims sizes = transposed_sizes(x.sizes(), spatial_sizes(in[1].sizes()), options, attrs);
    const Tensor y = ops::convolution_input(x, in[1], sizes, options);
    return in[2] ? y + ops::along_channels(in[2], y.rank()) : y;
  });
}

Op convolution_row(std::string_view signature, std::string_view documentation, std::string_view example,
                   InferFn infer, BodyFn body) {
  Op row = ops::composite_row(signature, documentation, example, infer, body);
  row.traits = kLowPrecision;
  row.complex = complex_rules::composed;
  return row;
}

// A convolution whose padding is sizes, as ONNX's operator has it.
Op with_operator(Op row) {
  row.onnx = onnx_rules::convolution;
  return row;
}

}  // namespace

void add_conv_ops(OpTable& table) {
  table.add(with_operator(convolution_row(
      "conv1d(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: dims = 0, "
      "dilation: "
      "dims = 1, groups: int = 1)",
      "Slides each kernel of weight [out, channels / groups, k] over x [n, channels, length] (or without n) "
      "and sums the products. Channels only meet within their group; padding is zeros at both ends, or "
      "\"same\" or \"valid\".",
      ">>> conv1d(tensor([[1.0, 2.0, 4.0]]), tensor([[[-1.0, 1.0]]])).tolist()\n[[1.0, 2.0]]", infer_conv<1>,
      conv<1>)));
  table.add(convolution_row(
      "conv1d.named(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: "
      "str[\"valid\", "
      "\"same\"] = \"valid\", dilation: dims = 1, groups: int = 1)",
      "`conv1d` with padding by word: \"same\" keeps the length, \"valid\" adds none.",
      ">>> conv1d(ones(1, 4), ones(1, 1, 3), padding=\"same\").tolist()\n[[2.0, 3.0, 3.0, 2.0]]",
      infer_conv<1>, conv<1>));
  table.add(with_operator(convolution_row(
      "conv2d(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: dims = 0, "
      "dilation: "
      "dims = 1, groups: int = 1)",
      "Slides each kernel of weight [out, channels / groups, kh, kw] over x [n, channels, height, width] (or "
      "without n) and sums the products. Stride, padding and dilation are one int or one for each of height "
      "and width. Channels only meet within their group; padding is zeros on all sides, or \"same\" or "
      "\"valid\".",
      ">>> conv2d(ones(1, 1, 3, 3), ones(2, 1, 2, 2), stride=2, padding=1).shape\n(1, 2, 2, 2)",
      infer_conv<2>, conv<2>)));
  table.add(
      convolution_row("conv2d.named(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, "
                      "padding: str[\"valid\", "
                      "\"same\"] = \"valid\", dilation: dims = 1, groups: int = 1)",
                      "`conv2d` with padding by word: \"same\" keeps height and width, \"valid\" adds none.",
                      ">>> conv2d(ones(1, 3, 3), ones(2, 1, 2, 2), padding=\"same\").shape\n(2, 3, 3)",
                      infer_conv<2>, conv<2>));
  table.add(convolution_row(
      "conv_transpose1d(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: dims = "
      "0, "
      "output_padding: dims = 0, groups: int = 1, dilation: dims = 1)",
      "The gradient of `conv1d` by its input, as an op: weight is [channels, out / groups, k]. "
      "`output_padding` makes the result longer at one end.",
      ">>> conv_transpose1d(tensor([[1.0, 2.0]]), tensor([[[1.0, 1.0]]]), stride=2).tolist()\n[[1.0, 1.0, "
      "2.0, 2.0]]",
      infer_transpose<1>, conv_transpose<1>));
  table.add(convolution_row(
      "conv_transpose2d(x: tensor, weight: tensor, bias: tensor? = none, stride: dims = 1, padding: dims = "
      "0, "
      "output_padding: dims = 0, groups: int = 1, dilation: dims = 1)",
      "The gradient of `conv2d` by its input, as an op: weight is [channels, out / groups, kh, kw]. "
      "`output_padding` makes the result larger at one end of each dimension.",
      ">>> conv_transpose2d(ones(1, 2, 2), ones(1, 3, 2, 2), stride=2).shape\n(3, 4, 4)", infer_transpose<2>,
      conv_transpose<2>));
}

}  // namespace kiln
