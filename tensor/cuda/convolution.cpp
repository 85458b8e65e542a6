// Kernels of the convolutions on cards: products of matrices over unrolled windows, as the CPU has them for
// dtypes that its library does not know.
#include <algorithm>

#include "tensor/cuda/kernels.h"
#include "tensor/cuda/operands.h"
#include "tensor/functions.h"
#include "tensor/ops/convolution.h"

namespace kiln::cuda {
namespace {

// Unrolled windows have an element for each place of a window. So many images are unrolled at once that they
// do not take more memory than this, and at least one.
constexpr std::int64_t kMostUnrolledBytes = std::int64_t{256} << 20;

// A convolution of some images; all numbers of channels are those of one group. Any number of spatial
// dimensions.
class Windows {
 public:
  Windows(const Dims& x, const Dims& weight, const Dims& y, const ops::ConvOptions& options)
      : in_(ops::spatial_sizes(x)),
        kernel_(ops::spatial_sizes(weight)),
        out_(ops::spatial_sizes(y)),
        options_(options),
        in_channels_(weight[1].fixed()),
        out_channels_(weight[0].fixed() / options.groups),
        taps_(count_elements(kernel_)),
        places_(count_elements(out_)) {
    for (std::size_t d = 0; d < in_.size(); ++d) {
      const Dim reached =
          (out_[d] - 1) * options.stride[d] + ops::window_reach(kernel_[d], options.dilation[d]);
      padded_.push_back(std::max(in_[d] + 2 * options.padding[d], reached));
    }
  }

  std::int64_t depth() const { return in_channels_ * taps_; }
  std::int64_t places() const { return places_; }
  std::int64_t out_channels() const { return out_channels_; }
  Dim groups() const { return options_.groups; }
  bool is_trivial(Dim images) const {
    return images == 0 || options_.groups == 0 || in_channels_ == 0 || out_channels_ == 0 || places_ == 0 ||
           taps_ == 0 || count_elements(in_) == 0;
  }
  std::int64_t images_at_once(DType dtype) const {
    const std::int64_t each = options_.groups * depth() * places_ * static_cast<std::int64_t>(size_of(dtype));
    return std::max<std::int64_t>(1, kMostUnrolledBytes / std::max<std::int64_t>(1, each));
  }

  // [images, groups, depth, places].
  Tensor unrolled(const Tensor& x) const {
    return ops::reshape(windows(padded(x)), Dims{x.size(0), options_.groups, depth(), places_});
  }
  // The sum of all windows at their places, as images. `columns` is as `unrolled` gives them.
  Tensor rolled(const Tensor& columns) const {
    const Dim images = columns.size(0);
    const Tensor image = ops::zeros(padded_sizes(images), columns.dtype(), columns.device());
    const Tensor all = windows(image);
    Dims sizes = all.sizes();
    const Tensor added = ops::view(columns, sizes);
    each_tap([&](const Dims& tap) { ops::add_(at_tap(all, tap), at_tap(added, tap)); });
    return inner(image);
  }

 private:
  Dims padded_sizes(Dim images) const {
    Dims sizes{images, options_.groups * in_channels_};
    sizes.append(padded_.begin(), padded_.end());
    return sizes;
  }
  bool has_padding() const { return !(padded_ == in_); }
  Tensor padded(const Tensor& x) const {
    if (!has_padding()) return in_order(x);
    const Tensor image = ops::zeros(padded_sizes(x.size(0)), x.dtype(), x.device());
    ops::copy_(inner(image), x);
    return image;
  }
  Tensor inner(const Tensor& image) const {
    Tensor part = image;
    for (std::size_t d = 0; d < in_.size(); ++d)
      part = ops::narrow(part, static_cast<int>(d) + 2, options_.padding[d], in_[d]);
    return part;
  }
  // [images, groups, channels, kernel…, out…] over a padded image in order.
  Tensor windows(const Tensor& image) const {
    Dims sizes{image.size(0), options_.groups, in_channels_}, strides;
    const Dims& own = image.strides();
    strides = Dims{own[0], own[1] * in_channels_, own[1]};
    sizes.append(kernel_.begin(), kernel_.end());
    sizes.append(out_.begin(), out_.end());
    for (std::size_t d = 0; d < in_.size(); ++d) strides.push_back(own[d + 2] * options_.dilation[d]);
    for (std::size_t d = 0; d < in_.size(); ++d) strides.push_back(own[d + 2] * options_.stride[d]);
    return Tensor::alias(image, Layout{sizes, strides, image.layout().offset});
  }
  // Of windows: [images, groups, channels, out…].
  static Tensor at_tap(const Tensor& windows, const Dims& tap) {
    Tensor part = windows;
    for (const Dim each : tap) part = ops::select(part, 3, each);
    return part;
  }
  template <class F>
  void each_tap(const F& f) const {
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      Dims place(kernel_.size(), 0);
      std::int64_t left = tap;
      for (std::size_t d = kernel_.size(); d-- > 0; left /= kernel_[d].fixed())
        place[d] = left % kernel_[d].fixed();
      f(place);
    }
  }

  Dims in_, kernel_, out_;
  ops::ConvOptions options_;
  std::int64_t in_channels_, out_channels_, taps_, places_;
  Dims padded_;  // sizes of an image that every window lies in
};

bool is_narrow(DType dtype) { return is_float(dtype) && size_of(dtype) < size_of(DType::F32); }

ops::ConvOptions options_of(Inputs in, const Attrs& attrs) {
  return ops::conv_options(attrs, in[0].sizes().size() - 2);
}

// Calls f(first, count) for some images after others.
template <class F>
void each_part(const Windows& windows, const Tensor& images, const F& f) {
  const std::int64_t all = images.size(0).fixed(), most = windows.images_at_once(images.dtype());
  for (std::int64_t first = 0; first < all; first += most) f(first, std::min(most, all - first));
}

// [images, groups, out channels, places] of an operand of that side.
Tensor by_places(const Windows& windows, const Tensor& y) {
  return ops::reshape(in_order(y),
                      Dims{y.size(0), windows.groups(), windows.out_channels(), windows.places()});
}
Tensor by_depth(const Windows& windows, const Tensor& weight) {
  return ops::reshape(in_order(weight), Dims{windows.groups(), windows.out_channels(), windows.depth()});
}

void forward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const Tensor& y = outputs[0];
  if (in[2]) ops::check_conv_bias(in[2].type(), in[0].type(), in[1].size(0), attrs);
  const Windows windows(in[0].sizes(), in[1].sizes(), y.sizes(), options_of(in, attrs));
  if (windows.is_trivial(y.size(0))) {
    ops::fill_(y, Tensor::number(0.0));
  } else {
    const Tensor weight = by_depth(windows, in[1]);
    each_part(windows, in[0], [&](std::int64_t first, std::int64_t count) {
      const Tensor part = ops::narrow(in[0], 0, first, count), result = ops::narrow(y, 0, first, count);
      ops::copy_(result, ops::view(ops::matmul(weight, windows.unrolled(part)), result.sizes()));
    });
  }
  if (in[2]) ops::add_(y, ops::along_channels(in[2], y.rank()));
}

// Windows overlap: halves are added up in f32, and rounded once.
void by_input(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const Tensor& x = outputs[0];
  const Windows windows(x.sizes(), in[1].sizes(), in[0].sizes(), options_of(in, attrs));
  if (windows.is_trivial(x.size(0))) {
    ops::fill_(x, Tensor::number(0.0));
    return;
  }
  const DType sum = is_narrow(x.dtype()) ? DType::F32 : x.dtype();
  const Tensor weight = ops::transpose(by_depth(windows, in[1]), 1, 2);
  each_part(windows, in[0], [&](std::int64_t first, std::int64_t count) {
    const Tensor part = by_places(windows, ops::narrow(in[0], 0, first, count));
    ops::copy_(ops::narrow(x, 0, first, count), windows.rolled(ops::to(ops::matmul(weight, part), sum)));
  });
}

// The images of a part are one sum, and parts are added in order.
void by_weight(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const Tensor& weight = outputs[0];
  const Windows windows(in[0].sizes(), weight.sizes(), in[1].sizes(), options_of(in, attrs));
  ops::fill_(weight, Tensor::number(0.0));
  if (windows.is_trivial(in[0].size(0))) return;
  const Tensor sum =
      is_narrow(weight.dtype()) ? ops::zeros(weight.sizes(), DType::F32, weight.device()) : weight;
  const auto side_by_side = [&](const Tensor& by_image, std::int64_t rows) {
    return ops::reshape(ops::permute(by_image, Dims{1, 2, 0, 3}),
                        Dims{windows.groups(), rows, by_image.size(0) * windows.places()});
  };
  each_part(windows, in[0], [&](std::int64_t first, std::int64_t count) {
    const Tensor columns = windows.unrolled(ops::narrow(in[0], 0, first, count));
    const Tensor y = by_places(windows, ops::narrow(in[1], 0, first, count));
    const Tensor made = ops::matmul(side_by_side(y, windows.out_channels()),
                                    ops::transpose(side_by_side(columns, windows.depth()), 1, 2));
    ops::add_(sum, ops::view(ops::to(made, sum.dtype()), weight.sizes()));
  });
  if (!sum.is_same(weight)) ops::copy_(weight, sum);
}

}  // namespace

void add_convolution_kernels(Kernels& kernels) {
  kernels.add("convolution", forward);
  kernels.add("convolution_input", by_input);
  kernels.add("convolution_weight", by_weight);
}

}  // namespace kiln::cuda
