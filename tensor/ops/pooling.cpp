#include "tensor/ops/pooling.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tensor/ops/convolution.h"
#include "tensor/ops/rules.h"

namespace kiln::ops {

namespace {

[[noreturn]] void refuse(const Attrs& attrs, ErrorKind kind, const std::string& why, std::string help = {}) {
  throw OpError(kind, plain_name(attrs) + ": " + why, {0}, std::move(help));
}

// How many windows fit; with `ceil_mode` one more that reaches beyond the end, if it begins before it.
Dim window_count(Dim size, Dim reach, Dim stride, Dim padding, bool ceil_mode) {
  // Sizes may be attributes, of any value. What leaves 64 bits is as large as can be.
  constexpr Dim kLargest = std::numeric_limits<std::int64_t>::max();
  const Dim beyond = 2 * padding - reach + (ceil_mode ? stride - 1 : Dim());
  const Dim room = add_if_fits(size, beyond).value_or(kLargest);
  if (room < 0) return 0;
  const Dim last = floor_div(room, stride);
  if (ceil_mode && last * stride >= add_if_fits(size, padding).value_or(kLargest)) return last;
  return add_if_fits(last, 1).value_or(kLargest);
}

}  // namespace

bool has_attribute(const Attrs& attrs, std::string_view name) {
  const auto& parameters = attrs.op()->signature.parameters;
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const Parameter& each) { return each.name == name; });
}

Dims plane_sizes(const TensorType& x, const Attrs& attrs) {
  const std::size_t rank = x.sizes.size();
  if (rank != 3 && rank != 4) {
    refuse(attrs, ErrorKind::Shape,
           "expects 4 dimensions, [n, channels, height, width], or 3 without the batch, got " + to_string(x));
  }
  const Dims planes(x.sizes.end() - 2, x.sizes.end());
  if (planes[0] == 0 || planes[1] == 0) {
    refuse(attrs, ErrorKind::Shape, "the images of " + to_string(x) + " have no elements");
  }
  return planes;
}

TensorType with_planes(const TensorType& x, const Dims& planes) {
  Dims sizes(x.sizes.begin(), x.sizes.end() - 2);
  sizes.append(planes.begin(), planes.end());
  return rules::with_sizes(x, sizes);
}

void need_order(const TensorType& x, const Attrs& attrs) {
  if (x.dtype != DType::Bool) return;
  refuse(attrs, ErrorKind::DType, "bool has no order, and this is " + to_string(x),
         "convert first: x.to(u8)");
}

Pool pool_along(const Dims& planes, std::size_t dim, const Attrs& attrs) {
  const bool dilated = has_attribute(attrs, "dilation");
  const Dim kernel = spatial_list(attrs, "kernel_size", 2, 1)[dim];
  const Dim stride = attrs.has("stride") ? spatial_list(attrs, "stride", 2, 1)[dim] : kernel;
  const Dim padding = spatial_list(attrs, "padding", 2, 0)[dim];
  const Dim dilation = dilated ? spatial_list(attrs, "dilation", 2, 1)[dim] : 1;
  const Dim reach = window_reach(kernel, dilation);
  const Dim size = planes[dim];
  if (padding > reach / 2) {
    refuse(attrs, ErrorKind::Value,
           "padding must be at most half of what the kernel reaches, " + std::to_string(reach) + ", it is " +
               std::to_string(padding));
  }
  const Dim count = window_count(size, reach, stride, padding, attrs.get<bool>("ceil_mode"));
  if (count < 1) {
    refuse(attrs, ErrorKind::Shape,
           "a kernel that reaches " + std::to_string(reach) + " does not fit into a " +
               (dim == 0 ? "height of " : "width of ") + std::to_string(size) +
               (padding > 0 ? " padded by " + std::to_string(padding) : ""));
  }
  for (Dim i = 0; i < count && i * stride < padding; ++i) {
    const Dim first = i * stride - padding;
    if (first + ceil_div(-first, dilation) * dilation < std::min(first + reach, size)) continue;
    refuse(attrs, ErrorKind::Value, "a window that begins in the padding steps over the whole input",
           "use a smaller dilation or padding");
  }
  return {stride, padding, dilation, reach, count};
}

Dim adaptive_count(const Dims& planes, std::size_t dim, const Attrs& attrs) {
  const Dim count = spatial_list(attrs, "output_size", 2, -1)[dim];
  return count == -1 ? planes[dim] : count;
}

bool is_adaptive(const Attrs& attrs) { return has_attribute(attrs, "output_size"); }

WindowAxis window_axis(const Dims& planes, std::size_t dim, const Attrs& attrs) {
  const std::int64_t size = planes[dim].fixed();
  if (is_adaptive(attrs)) {
    return {.size = size,
            .count = adaptive_count(planes, dim, attrs).fixed(),
            .is_adaptive = true,
            .stride = 1,
            .padding = 0,
            .dilation = 1,
            .reach = 1,
            .counts_padding = false};
  }
  const Pool pool = pool_along(planes, dim, attrs);
  return {
      .size = size,
      .count = pool.count.fixed(),
      .is_adaptive = false,
      .stride = pool.stride.fixed(),
      .padding = pool.padding.fixed(),
      .dilation = pool.dilation.fixed(),
      .reach = pool.reach.fixed(),
      .counts_padding = has_attribute(attrs, "count_include_pad") && attrs.get<bool>("count_include_pad")};
}

Dims count_windows(const Dims& planes, const Attrs& attrs) {
  Dims counts;
  for (const std::size_t dim : {0, 1}) {
    counts.push_back(is_adaptive(attrs) ? adaptive_count(planes, dim, attrs)
                                        : pool_along(planes, dim, attrs).count);
  }
  return counts;
}

// ---- Batches and lines -----------------------------------------------------------------------------------

Tensors batch_images(const BatchArgs& args) {
  std::vector<Tensor> images;
  std::optional<Dim> of_each;  // how many images an example has
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    Tensor x = rules::with_batch(args, i);
    if (x.rank() == 5) {
      Dims sizes(x.sizes().begin() + 1, x.sizes().end());
      of_each = sizes[0];
      sizes[0] *= args.batch_size;
      x = reshape(x, sizes);
    }
    images.push_back(x);
  }
  Tensors outputs = kiln::bind(args.op, images, args.attrs);
  if (!of_each) return outputs;
  for (Tensor& y : outputs) {
    Dims sizes = rules::prepend(args.batch_size, y.sizes());
    sizes[1] = *of_each;
    y = reshape(y, sizes);
  }
  return outputs;
}

Attrs of_planes(const Attrs& attrs) {
  struct Line {
    std::string_view name;
    Dim height, least;
  };
  constexpr Line kLines[] = {
      {"kernel_size", 1, 1}, {"stride", 1, 1}, {"padding", 0, 0}, {"dilation", 1, 1}, {"output_size", 1, 0}};
  Attrs wide = attrs;
  for (const auto& [name, height, least] : kLines) {
    if (has_attribute(attrs, name) && attrs.has(name))
      wide.set(name, Dims{height, spatial_list(attrs, name, 1, least)[0]});
  }
  return wide;
}

Tensor as_planes(const Tensor& x) { return unsqueeze(x, x.rank() - 1); }
Tensor from_planes(const Tensor& x) { return squeeze(x, Dims{x.rank() - 2}); }

TensorType as_planes(const TensorType& x, const Attrs& attrs) {
  if (x.sizes.size() != 2 && x.sizes.size() != 3) {
    refuse(attrs, ErrorKind::Shape,
           "expects 3 dimensions, [n, channels, length], or 2 without the batch, got " + to_string(x));
  }
  Dims sizes = x.sizes;
  sizes.insert(sizes.end() - 1, 1);
  return rules::with_sizes(x, sizes);
}
TensorType from_planes(TensorType x) {
  x.sizes.erase(x.sizes.end() - 2);
  return x;
}

}  // namespace kiln::ops
