// Convolutions, also transposed, of one to three spatial dimensions.
#include "onnx/import/window.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// Without the depth of images: the examples of the batch are the planes.
Tensor planes(const Tensor& x) {
  const Tensor moved = ops::transpose(x, 1, 2);  // [n, depth, channels, h, w]
  return ops::reshape(moved, Dims{x.size(0) * x.size(2), x.size(1), x.size(3), x.size(4)});
}

struct Options {
  Dims strides, padding, dilations;
  Dim groups = 1;
};

Tensor convolve(const Tensor& x, const Tensor& weight, const Options& options) {
  return apply("convolution", {x, weight, Tensor()},
               {{"stride", options.strides},
                {"padding", options.padding},
                {"dilation", options.dilations},
                {"groups", options.groups}});
}

// A sum over the depth of the kernel of convolutions of planes; x is padded already.
Tensor convolve_volume(const Tensor& x, const Tensor& weight, const Windows& all, Dim groups) {
  const Dim depth = floor_div(x.size(2) - (all.kernel[0] - 1) * all.dilations[0] - 1, all.strides[0]) + 1;
  const Options options{
      {all.strides[1], all.strides[2]}, {0, 0}, {all.dilations[1], all.dilations[2]}, groups};
  Tensor total;
  for (std::int64_t k = 0; k < all.kernel[0].fixed(); ++k) {
    const Dim first = k * all.dilations[0];
    const Tensor taken = ops::slice(x, 2, first, first + (depth - 1) * all.strides[0] + 1, all.strides[0]);
    const Tensor part = convolve(planes(taken), ops::select(weight, 2, k), options);
    total = total ? ops::add(total, part) : part;
  }
  const Tensor parts =
      ops::reshape(total, Dims{x.size(0), depth, weight.size(0), total.size(2), total.size(3)});
  return ops::transpose(parts, 1, 2);
}

Dims spatial(const Tensor& x) { return Dims(x.sizes().begin() + 2, x.sizes().end()); }

Tensor with_bias(const Tensor& y, const Tensor& bias) {
  if (!bias) return y;
  Dims sizes(static_cast<std::size_t>(y.rank()), 1);
  sizes[1] = bias.numel();
  return ops::add(y, ops::reshape(bias, sizes));
}

Tensor convolution_of(Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.rank() < 3 || x.rank() > 5 || weight.rank() != x.rank())
    call.refuse("has 1 to 3 spatial dimensions, got " + to_string(x.type()) + " and " +
                to_string(weight.type()));
  const Windows all = windows(call, x, call.dims("kernel_shape").value_or(spatial(weight)));
  const Dim groups = call.integer("group", 1);
  if (all.rank() == 3)
    return with_bias(convolve_volume(padded(x, all.before, all.after, Dim(0)), weight, all, groups), bias);
  const bool symmetric = all.is_symmetric();
  const Tensor from = symmetric ? x : padded(x, all.before, all.after, Dim(0));
  return apply("convolution", {from, weight, bias},
               {{"stride", all.strides},
                {"padding", symmetric ? all.before : Dims(all.rank(), 0)},
                {"dilation", all.dilations},
                {"groups", groups}});
}

Values convolution(Call& call) { return {convolution_of(call, call.x(0), call.x(1), call.maybe(2))}; }

// The sizes that a transposed convolution gives, and how much of the border it leaves out.
struct Transposed {
  Dims sizes;  // without padding
  Dims before, after;
};

Transposed transposed_sizes(Call& call, const Tensor& x, const Windows& all) {
  Transposed made;
  const Dims extra = call.dims("output_padding", all.rank(), 0);
  const std::optional<Dims> wanted = call.dims("output_shape");
  const std::string automatic = call.word("auto_pad", "NOTSET");
  const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  for (std::size_t d = 0; d < all.rank(); ++d) {
    const Dim size = x.size(static_cast<int>(d) + 2);
    const Dim full = (size - 1) * all.strides[d] + (all.kernel[d] - 1) * all.dilations[d] + 1;
    made.sizes.push_back(full);
    if (!wanted && !is_same) {
      made.before.push_back(all.before[d]);
      made.after.push_back(all.after[d] - extra[d]);
      continue;
    }
    const Dim target = wanted ? (*wanted)[wanted->size() - all.rank() + d] : size * all.strides[d];
    const Dim total = full + extra[d] - target;
    const Dim half = floor_div(total, 2);
    made.before.push_back(automatic == "SAME_UPPER" ? half : total - half);
    made.after.push_back(total - made.before.back() - extra[d]);
  }
  return made;
}

// The gradient of a convolution by its input; what the pads say is cut off, or zeros are added.
Tensor transpose_convolve(const Tensor& x, const Tensor& weight, const Dims& sizes, const Options& options) {
  return apply("convolution_input", {x, weight},
               {{"sizes", sizes},
                {"stride", options.strides},
                {"padding", options.padding},
                {"dilation", options.dilations},
                {"groups", options.groups}});
}

// Each plane of the kernel adds to planes of the result.
Tensor transpose_volume(const Tensor& x, const Tensor& weight, const Windows& all, const Dims& sizes,
                        Dim groups) {
  const Options options{
      {all.strides[1], all.strides[2]}, {0, 0}, {all.dilations[1], all.dilations[2]}, groups};
  const Dim n = x.size(0), depth = x.size(2), channels = weight.size(1) * groups;
  const Tensor flat = planes(x);
  Tensor total;
  for (std::int64_t k = 0; k < all.kernel[0].fixed(); ++k) {
    const Tensor part = transpose_convolve(flat, ops::select(weight, 2, k), {sizes[1], sizes[2]}, options);
    const Tensor volume =
        ops::transpose(ops::reshape(part, Dims{n, depth, channels, sizes[1], sizes[2]}), 1, 2);
    const Tensor empty = ops::zeros(Dims{n, channels, sizes[0], sizes[1], sizes[2]}, x.dtype());
    const Dim first = k * all.dilations[0];
    const Tensor placed =
        ops::slice_scatter(empty, volume, 2, first, first + (depth - 1) * all.strides[0] + 1, all.strides[0]);
    total = total ? ops::add(total, placed) : placed;
  }
  return total;
}

Values transposed_convolution(Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  if (x.rank() < 3 || x.rank() > 5 || weight.rank() != x.rank())
    call.refuse("has 1 to 3 spatial dimensions, got " + to_string(x.type()) + " and " +
                to_string(weight.type()));
  const Windows all = windows(call, x, call.dims("kernel_shape").value_or(spatial(weight)));
  const Dim groups = call.integer("group", 1);
  const Transposed made = transposed_sizes(call, x, all);
  Tensor full;
  if (all.rank() == 3) {
    full = transpose_volume(x, weight, all, made.sizes, groups);
  } else {
    full =
        transpose_convolve(x, weight, made.sizes, {all.strides, Dims(all.rank(), 0), all.dilations, groups});
  }
  Dims before, after;
  for (std::size_t d = 0; d < all.rank(); ++d) {
    before.push_back(-made.before[d]);
    after.push_back(-made.after[d]);
  }
  return {with_bias(padded(full, before, after, Dim(0)), call.maybe(2))};
}

// Of whole numbers, from zero points on: exact in f64.
Values convolution_integer(Call& call) {
  const auto shifted = [&](std::size_t i, int rank) {
    const Tensor x = ops::to(call.x(i), DType::F64);
    if (!call.has(i + 2)) return x;
    Tensor zero = ops::to(call.x(i + 2), DType::F64);
    while (zero.rank() > 0 && zero.rank() < rank) zero = ops::unsqueeze(zero, zero.rank());
    return ops::sub(x, zero);
  };
  const Tensor x = call.x(0);
  return {ops::to(convolution_of(call, shifted(0, 0), shifted(1, x.rank()), {}), DType::I32)};
}

// x, its scale and zero point, the same of the weight, those of the result, and a bias in steps of both
// scales.
Values quantized_convolution(Call& call) {
  const auto floats = [&](std::size_t i, int rank) {
    const auto spread = [&](Tensor numbers) {
      numbers = ops::to(numbers, DType::F64);
      while (numbers.rank() > 0 && numbers.rank() < rank) numbers = ops::unsqueeze(numbers, numbers.rank());
      return numbers;
    };
    return ops::mul(ops::sub(ops::to(call.x(i), DType::F64), spread(call.x(i + 2))), spread(call.x(i + 1)));
  };
  Tensor bias;
  if (call.has(8))
    bias = ops::to(call.x(8), DType::F64) * ops::to(call.x(1), DType::F64) * ops::to(call.x(4), DType::F64);
  const Tensor made = convolution_of(call, floats(0, 0), floats(3, call.x(3).rank()), bias);
  const DType dtype = call.x(7).dtype();
  const Tensor whole =
      ops::round(ops::div(made, ops::to(call.x(6), DType::F64))) + ops::to(call.x(7), DType::F64);
  const bool is_signed = dtype == DType::I8;
  return {ops::to(ops::clamp(whole, is_signed ? -128 : 0, is_signed ? 127 : 255), dtype)};
}

constexpr Operator kConvolutionOperators[] = {
    {"Conv", convolution},
    {"ConvInteger", convolution_integer},
    {"ConvTranspose", transposed_convolution},
    {"QLinearConv", quantized_convolution},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kConvolutionOperators; }

}  // namespace kiln::onnx
