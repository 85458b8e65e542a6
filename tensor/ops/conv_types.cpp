// Owns what the attributes and types of a convolution must be, in words when they are not.
#include <algorithm>
#include <limits>

#include "tensor/ops/convolution.h"
#include "tensor/ops/rules.h"

namespace kiln::ops {

namespace {

[[noreturn]] void refuse(const Attrs& attrs, const std::string& why, std::vector<int> operands,
                         std::string help = {}, ErrorKind kind = ErrorKind::Shape) {
  throw OpError(kind, plain_name(attrs) + ": " + why, std::move(operands), std::move(help));
}

// x and weight (or y and weight) of equal ranks with 1 or 2 spatial dimensions, of one dtype that adds up.
void check_operands(const TensorType& x, const TensorType& weight, const Attrs& attrs) {
  if (x.sizes.size() < 3 || x.sizes.size() > 4 || weight.sizes.size() != x.sizes.size()) {
    refuse(attrs,
           "expects x [n, channels, ...] and a weight [out, channels / groups, ...] with 1 or 2 spatial "
           "dimensions, got " +
               to_string(x) + " and " + to_string(weight),
           {0, 1});
  }
  if (x.dtype != weight.dtype) {
    refuse(attrs, "the input is " + to_string(x) + " and the weight " + to_string(weight) + ": dtypes differ",
           {0, 1}, "convert one with `.to(" + std::string(name(promote(x.dtype, weight.dtype))) + ")`",
           ErrorKind::DType);
  }
  if (x.dtype == DType::Bool) {
    refuse(attrs, "bool has no product", {0, 1}, "convert both with `.to(f32)`", ErrorKind::DType);
  }
}

// Channels and groups that fit: of the weight, of x (or what it will have), of y likewise.
void check_groups(const TensorType& weight, const ConvOptions& options, const Attrs& attrs) {
  for (std::size_t d = 2; d < weight.sizes.size(); ++d) {
    if (weight.sizes[d] < 1) refuse(attrs, "the kernel of " + to_string(weight) + " is empty", {1});
  }
  if (weight.sizes[0] < 1 || weight.sizes[0] % options.groups != 0) {
    refuse(attrs,
           "the " + std::to_string(weight.sizes[0]) + " output channels of the weight " + to_string(weight) +
               " do not divide into " + std::to_string(options.groups) + " groups",
           {1});
  }
}

// How many places a window has along each spatial dimension.
Dims window_places(const Dims& sizes, const Dims& kernel, const ConvOptions& options) {
  Dims places;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    // Sizes may be attributes, of any value. What leaves 64 bits is as large as can be.
    constexpr Dim kLargest = std::numeric_limits<std::int64_t>::max();
    const Dim span = multiply_if_fits(kernel[d] - 1, options.dilation[d]).value_or(kLargest);
    const Dim room = add_if_fits(sizes[d], 2 * options.padding[d]).value_or(kLargest) - 1 - span;
    const Dim count = room < 0 ? Dim() : floor_div(room, options.stride[d]);
    places.push_back(room < 0 ? count : add_if_fits(count, 1).value_or(kLargest));
  }
  return places;
}

}  // namespace

std::string plain_name(const Attrs& attrs) {
  const std::string_view name = attrs.op()->name();
  return std::string(name.substr(0, name.find('.')));
}

Dims spatial_list(const Attrs& attrs, std::string_view name, std::size_t count, Dim least) {
  Dims list = attrs.get<Dims>(name);
  if (list.size() == 1) list.resize(count, list[0]);
  if (list.size() != count) {
    refuse(attrs,
           std::string(name) + " has " + std::to_string(list.size()) + " entries for " +
               std::to_string(count) + " spatial dimensions",
           {}, "give an int, or one for each dimension", ErrorKind::Value);
  }
  constexpr Dim kMost = std::int64_t{1} << 31;  // with which sizes can be computed
  for (const Dim each : list) {
    if (each > kMost) {
      refuse(
          attrs,
          std::string(name) + " must be at most " + std::to_string(kMost) + ", it is " + std::to_string(each),
          {}, {}, ErrorKind::Value);
    }
    if (each >= least) continue;
    refuse(
        attrs,
        std::string(name) + " must be at least " + std::to_string(least) + ", it is " + std::to_string(each),
        {}, {}, ErrorKind::Value);
  }
  return list;
}

std::int64_t conv_groups(const Attrs& attrs) {
  const auto groups = attrs.get<std::int64_t>("groups");
  if (groups < 1)
    refuse(attrs, "groups must be at least 1, it is " + std::to_string(groups), {}, {}, ErrorKind::Value);
  return groups;
}

ConvOptions conv_options(const Attrs& attrs, std::size_t spatial) {
  ConvOptions options;
  options.stride = spatial_list(attrs, "stride", spatial, 1);
  options.padding = spatial_list(attrs, "padding", spatial, 0);
  options.dilation = spatial_list(attrs, "dilation", spatial, 1);
  options.groups = conv_groups(attrs);
  return options;
}

Dims spatial_sizes(const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); }

TensorType convolved_type(const TensorType& x, const TensorType& weight, const ConvOptions& options,
                          const Attrs& attrs) {
  check_operands(x, weight, attrs);
  check_groups(weight, options, attrs);
  if (x.sizes[1] != weight.sizes[1] * options.groups) {
    refuse(attrs,
           "the input " + to_string(x) + " has " + std::to_string(x.sizes[1]) + " channels and the weight " +
               to_string(weight) + " takes " + std::to_string(weight.sizes[1] * options.groups) +
               (options.groups > 1 ? " in " + std::to_string(options.groups) + " groups" : ""),
           {0, 1});
  }
  const Dims places = window_places(spatial_sizes(x.sizes), spatial_sizes(weight.sizes), options);
  for (const Dim each : places) {
    if (each > 0) continue;
    refuse(
        attrs,
        "the kernel of the weight " + to_string(weight) + " is larger than the padded input " + to_string(x),
        {0, 1}, "pad more, or use a smaller kernel or dilation");
  }
  TensorType type{x.dtype, x.device, Dims{x.sizes[0], weight.sizes[0]}, false};
  type.sizes.append(places.begin(), places.end());
  return type;
}

TensorType convolution_input_type(const TensorType& y, const TensorType& weight, const Dims& sizes,
                                  const ConvOptions& options, const Attrs& attrs) {
  check_operands(y, weight, attrs);
  check_groups(weight, options, attrs);
  if (y.sizes[1] != weight.sizes[0]) {
    refuse(attrs,
           to_string(y) + " has " + std::to_string(y.sizes[1]) + " channels and the weight " +
               to_string(weight) + " takes " + std::to_string(weight.sizes[0]),
           {0, 1});
  }
  const Dims spatial = spatial_sizes(y.sizes);
  bool fits = sizes.size() == spatial.size();
  if (fits) {
    const Dims places = window_places(sizes, spatial_sizes(weight.sizes), options);
    for (std::size_t d = 0; d < places.size(); ++d) fits = fits && spatial[d] <= places[d];
  }
  if (!fits) {
    refuse(attrs,
           "a convolution of " + to_string(sizes) + " by the weight " + to_string(weight) +
               " has no places for " + to_string(y),
           {0, 1});
  }
  TensorType type{y.dtype, y.device, Dims{y.sizes[0], weight.sizes[1] * options.groups}, false};
  type.sizes.append(sizes.begin(), sizes.end());
  return type;
}

void check_conv_bias(const TensorType& bias, const TensorType& x, Dim channels, const Attrs& attrs) {
  if (bias.sizes != Dims{channels}) {
    refuse(
        attrs,
        "the bias is " + to_string(bias) + ", and there are " + std::to_string(channels) + " output channels",
        {2}, "give one number per output channel");
  }
  if (bias.dtype != x.dtype) {
    refuse(attrs, "the bias is " + to_string(bias) + " and the input " + to_string(x) + ": dtypes differ",
           {0, 2}, {}, ErrorKind::DType);
  }
}

Tensor along_channels(const Tensor& v, int rank) {
  Dims sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = v.size(0);
  return reshape(v, sizes);
}

}  // namespace kiln::ops
