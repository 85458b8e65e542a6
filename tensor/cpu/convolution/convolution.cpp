#include "tensor/cpu/convolution/convolution.h"

#include <algorithm>
#include <cstring>

#include "tensor/cpu/convolution/image_blocks.h"
#include "tensor/cpu/convolution/onednn_convolution.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/products/gemm.h"
#include "tensor/cpu/scratch.h"
#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

// ---- As products of matrices: columns [in_channels * taps, out_plane] of one group of one image ----------

// The places o in [begin, end) whose input place o * stride - padding + offset is inside.
struct Inside {
  std::int64_t begin, end, first;  // first: the input place of `begin`
  Inside(const ConvShape& shape, std::size_t d, std::int64_t tap) {
    const std::int64_t offset = tap * shape.dilation[d] - shape.padding[d];
    const std::int64_t stride = shape.stride[d];
    begin = std::min(shape.out[d], offset >= 0 ? 0 : ceil_divide(-offset, stride));
    const std::int64_t room = shape.in[d] - offset;  // o * stride < room
    end = room <= 0 ? begin : std::clamp(ceil_divide(room, stride), begin, shape.out[d]);
    first = begin * stride + offset;
  }
};

// Calls f(row of columns, where it begins in the input or -1 outside, its stretch) for every output row.
template <class F>
void each_row(const ConvShape& shape, F&& f) {
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < shape.in_channels; ++c) {
    for (std::int64_t ky = 0; ky < shape.kernel[0]; ++ky) {
      const Inside rows(shape, 0, ky);
      for (std::int64_t kx = 0; kx < shape.kernel[1]; ++kx) {
        const Inside columns(shape, 1, kx);
        for (std::int64_t oy = 0; oy < shape.out[0]; ++oy, ++row) {
          const std::int64_t y = rows.first + (oy - rows.begin) * shape.stride[0];
          const bool inside = oy >= rows.begin && oy < rows.end && columns.begin < columns.end;
          f(row, inside ? (c * shape.in[0] + y) * shape.in[1] + columns.first : -1, columns);
        }
      }
    }
  }
}

template <class T>
void gather_columns(const ConvShape& shape, const T* image, T* columns) {
  const std::int64_t width = shape.out[1];
  const std::int64_t stride = shape.stride[1];
  each_row(shape, [&](std::int64_t row, std::int64_t from, const Inside& inside) {
    T* to = columns + row * width;
    if (from < 0) {
      std::fill_n(to, width, T{});
      return;
    }
    std::fill_n(to, inside.begin, T{});
    if (stride == 1) {
      std::copy_n(image + from, inside.end - inside.begin, to + inside.begin);
    } else {
      for (std::int64_t o = inside.begin; o < inside.end; ++o)
        to[o] = image[from + (o - inside.begin) * stride];
    }
    std::fill(to + inside.end, to + width, T{});
  });
}

template <class T>
void scatter_columns(const ConvShape& shape, const T* columns, T* image) {
  const std::int64_t stride = shape.stride[1];
  std::fill_n(image, shape.in_channels * shape.in_plane(), T{});
  each_row(shape, [&](std::int64_t row, std::int64_t at, const Inside& inside) {
    if (at < 0) return;
    const T* from = columns + row * shape.out[1];
    T* to = image + at;
    for (std::int64_t o = inside.begin; o < inside.end; ++o, to += stride) *to = add_wrapped(*to, from[o]);
  });
}

template <class T>
struct ImageMatrices {
  const ConvShape& shape;
  std::int64_t depth, plane, image_size, result_size, weight_size;  // of one group

  explicit ImageMatrices(const ConvShape& s)
      : shape(s),
        depth(s.in_channels * s.taps()),
        plane(s.out_plane()),
        image_size(s.in_channels * s.in_plane()),
        result_size(s.out_channels * plane),
        weight_size(s.out_channels * depth) {}

  Scratch<T> columns() const { return Scratch<T>(depth * plane); }
  static void multiply_one(const MatrixView<T>& a, const MatrixView<T>& b, T* c, std::int64_t m,
                           std::int64_t n, std::int64_t k) {
    const Product<T> product{a, b, c};
    multiply<T>({&product, 1}, m, n, k);
  }

  void forward(const T* x, const T* weight, const T* bias, T* y) const {
    parallel_for(shape.batch * shape.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> unrolled = columns();
      for (std::int64_t i = begin; i < end; ++i) {
        check_interrupt();
        const std::int64_t group = i % shape.groups;
        T* out = y + i * result_size;
        gather_columns(shape, x + i * image_size, unrolled.get());
        multiply_one({weight + group * weight_size, depth, 1}, {unrolled.get(), plane, 1}, out,
                     shape.out_channels, plane, depth);
        if (bias == nullptr) continue;
        for (std::int64_t o = 0; o < shape.out_channels; ++o) {
          const T add = bias[group * shape.out_channels + o];
          for (T* each = out + o * plane; each != out + (o + 1) * plane; ++each)
            *each = add_wrapped(*each, add);
        }
      }
    });
  }

  void input(const T* y, const T* weight, T* x) const {
    parallel_for(shape.batch * shape.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> unrolled = columns();
      for (std::int64_t i = begin; i < end; ++i) {
        check_interrupt();
        multiply_one({weight + i % shape.groups * weight_size, 1, depth}, {y + i * result_size, plane, 1},
                     unrolled.get(), depth, plane, shape.out_channels);
        scatter_columns(shape, unrolled.get(), x + i * image_size);
      }
    });
  }

  // Each block of images adds up a gradient of its own, image after image.
  void weights(const T* x, const T* y, T* weight) const {
    const ImageBlocks blocks(shape);
    const std::int64_t whole = shape.weights();
    const Scratch<T> sums(whole * blocks.count);
    std::fill_n(sums.get(), whole * blocks.count, T{});
    parallel_for(blocks.count * shape.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> unrolled = columns();
      const Scratch<T> product(weight_size);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t block = task / shape.groups;
        const std::int64_t group = task % shape.groups;
        T* sum = sums.get() + block * whole + group * weight_size;
        const std::int64_t last = std::min(shape.batch, (block + 1) * blocks.length);
        for (std::int64_t n = block * blocks.length; n < last; ++n) {
          check_interrupt();
          const std::int64_t i = n * shape.groups + group;
          gather_columns(shape, x + i * image_size, unrolled.get());
          multiply_one({y + i * result_size, plane, 1}, {unrolled.get(), 1, plane}, product.get(),
                       shape.out_channels, depth, plane);
          for (std::int64_t e = 0; e < weight_size; ++e) sum[e] = add_wrapped(sum[e], product.get()[e]);
        }
      }
    });
    add_blocks(sums.get(), blocks.count, whole, weight);
  }
};

// ---- Results that are no sum of anything -----------------------------------------------------------------

template <class T>
void fill_planes(const ConvShape& shape, const T* bias, T* y) {
  const std::int64_t channels = shape.groups * shape.out_channels;
  for (std::int64_t i = 0; i < shape.batch * channels; ++i)
    std::fill_n(y + i * shape.out_plane(), shape.out_plane(), bias == nullptr ? T{} : bias[i % channels]);
}

void clear(const Tensor& x) {
  std::memset(x.raw_writable(), 0, static_cast<std::size_t>(x.numel()) * size_of(x.dtype()));
}

bool is_trivial(const ConvShape& shape) {
  return shape.batch == 0 || shape.groups == 0 || shape.in_channels == 0 || shape.out_channels == 0 ||
         shape.in_plane() == 0 || shape.out_plane() == 0 || shape.taps() == 0;
}

bool through_library(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16; }

// Where the library has no bf16 the same is done in f32, between conversions.
Tensor wide(const Tensor& x) { return contiguous_copy(x, DType::F32); }
Tensor wide_like(const Tensor& x) { return Tensor::empty(x.sizes(), DType::F32, x.device()); }

template <class F>
void visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::U8:
      return f.template operator()<std::uint8_t>();
    case DType::I8:
      return f.template operator()<std::int8_t>();
    case DType::I16:
      return f.template operator()<std::int16_t>();
    case DType::I32:
      return f.template operator()<std::int32_t>();
    case DType::I64:
      return f.template operator()<std::int64_t>();
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    default:
      throw InternalError("convolution has no kernel for this dtype");
  }
}

}  // namespace

namespace {

void hand_out(const Tensor& whole, ResultPieces* pieces) {
  constexpr std::int64_t kPiece = 1 << 14;
  if (pieces == nullptr) return;
  parallel_for(whole.numel(), kPiece,
               [&](std::int64_t begin, std::int64_t end) { pieces->piece(begin, end); });
}

}  // namespace

void convolve(const ConvShape& shape, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Tensor& y, ResultPieces* pieces) {
  const DType dtype = y.dtype();
  if (!is_trivial(shape) && through_library(dtype) &&
      onednn::convolve(shape, dtype, x.raw(), weight.raw(), bias ? bias.raw() : nullptr, y.raw_writable(),
                       pieces)) {
    return;
  }
  if (dtype == DType::BF16) {
    const Tensor result = wide_like(y);
    convolve(shape, wide(x), wide(weight), bias ? wide(bias) : bias, result);
    return copy(y, result);
  }
  visit(dtype, [&]<class T>() {
    const T* add = bias ? bias.data<T>() : nullptr;
    if (is_trivial(shape)) return fill_planes(shape, add, y.writable<T>());
    ImageMatrices<T>(shape).forward(x.data<T>(), weight.data<T>(), add, y.writable<T>());
  });
  hand_out(y, pieces);
}

void convolve_input(const ConvShape& shape, const Tensor& y, const Tensor& weight, const Tensor& x,
                    ResultPieces* pieces) {
  if (is_trivial(shape)) {
    clear(x);
    return hand_out(x, pieces);
  }
  const DType dtype = x.dtype();
  if (through_library(dtype) &&
      onednn::convolve_input(shape, dtype, y.raw(), weight.raw(), x.raw_writable(), pieces)) {
    return;
  }
  if (dtype == DType::BF16) {
    const Tensor result = wide_like(x);
    convolve_input(shape, wide(y), wide(weight), result);
    return copy(x, result);
  }
  visit(dtype,
        [&]<class T>() { ImageMatrices<T>(shape).input(y.data<T>(), weight.data<T>(), x.writable<T>()); });
  hand_out(x, pieces);
}

void convolve_weight(const ConvShape& shape, const Tensor& x, const Tensor& y, const Tensor& weight) {
  if (is_trivial(shape)) return clear(weight);
  const DType dtype = weight.dtype();
  if (through_library(dtype)) {
    const Tensor result = dtype == DType::BF16 ? wide_like(weight) : weight;
    if (onednn::convolve_weight(shape, dtype, x.raw(), y.raw(), result.writable<float>())) {
      return copy(weight, result);
    }
  }
  if (dtype == DType::BF16) {
    const Tensor result = wide_like(weight);
    convolve_weight(shape, wide(x), wide(y), result);
    return copy(weight, result);
  }
  visit(dtype,
        [&]<class T>() { ImageMatrices<T>(shape).weights(x.data<T>(), y.data<T>(), weight.writable<T>()); });
}

}  // namespace kiln::cpu
