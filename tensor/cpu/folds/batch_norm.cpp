// Kernels of batch_norm by the statistics of its input, and of its derivative. Channels that are stored
// together are brought through cache a few at a time: memory is read and written once.
#include <cmath>
#include <vector>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/channel_sums.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& x) {
  return x ? x.data<T>() : nullptr;
}

// Absent tensors stay absent. As the composition has it: first the dtype of x, then that of computation.
Tensor affine(const Tensor& v, DType dtype) {
  return v ? dense(cast(v, dtype), ops::compute_dtype(dtype)) : Tensor();
}

template <class T>
std::vector<T> reciprocal_roots(const T* variance, std::int64_t count, double eps) {
  std::vector<T> roots(static_cast<std::size_t>(count));
  for (std::size_t c = 0; c < roots.size(); ++c)
    roots[c] = T(1) / std::sqrt(variance[c] + static_cast<T>(eps));
  return roots;
}

// Each channel's mean, by distances from its first element, and variance, of some channels.
template <class T>
void find_statistics(const Tensor& x, const ChannelBlock& block, const Tensor& mean, const Tensor& variance) {
  const auto count = static_cast<T>(block.length());
  const Tensor firsts = Tensor::empty(IntDims{block.count}, x.dtype(), Device{});
  T *first = firsts.writable<T>(), *center = mean.writable<T>() + block.first;
  for (std::int64_t c = 0; c < block.count; ++c) first[c] = x.data<T>()[(block.first + c) * block.inner];
  sums_of(x, block, count, center, Map::Distance, firsts);
  for (std::int64_t c = 0; c < block.count; ++c) center[c] = first[c] + center[c];
  const Tensor centers = Tensor::alias(mean, {IntDims{block.count}, IntDims{1}, mean.offset() + block.first});
  sums_of(x, block, count, variance.writable<T>() + block.first, Map::CenteredSquare, centers);
}

template <class T>
void normalize(Inputs in, Outputs outputs, double eps) {
  const DType dtype = in[0].dtype();
  const Tensor x = dense(in[0], ops::compute_dtype(dtype));
  const Tensor weight = affine(in[1], dtype), bias = affine(in[2], dtype);
  const Tensor y = computed_in(outputs[0], x.dtype());
  const Tensor &mean = outputs[1], &variance = outputs[2];
  const std::vector<T> ones(static_cast<std::size_t>(weight ? 0 : x.size(1)), T(1));  // which change no bit
  const T* from = x.data<T>();
  const T* scale = weight ? weight.data<T>() : ones.data();
  const T* shift = data_or_null<T>(bias);
  T* out = y.writable<T>();
  Channels(x.sizes()).each_block([&](const ChannelBlock& block) {
    find_statistics<T>(x, block, mean, variance);
    const auto rstd = reciprocal_roots(variance.data<T>() + block.first, block.count, eps);
    each_run(block, [&](const Run& run, std::int64_t at, std::int64_t, std::int64_t c) {
      const std::int64_t channel = block.first + c;
      channel_kernels<T>().normalize(
          run,
          {mean.data<T>() + channel, rstd.data() + c, scale + channel, shift ? shift + channel : nullptr},
          from + at, out + at);
    });
  });
  finish(outputs[0], y);
}

// For each channel, what its elements' gradients are made of.
template <class T>
struct Shares {
  std::vector<T> rstd, slope, apart, flat, by_mean, by_variance;

  // The two last stay empty when no gradient comes that way.
  void find(const ChannelBlock& block, const T* weights, const T* biases, const T* scale, const T* grad_mean,
            const T* grad_variance) {
    const auto count = static_cast<T>(block.length());
    for (std::int64_t c = 0; c < block.count; ++c) {
      const std::int64_t at = block.first + c;
      const T r = rstd[static_cast<std::size_t>(c)];
      slope.push_back(scale != nullptr ? r * scale[at] : r);
      apart.push_back(weights[at] / count);
      flat.push_back(biases[at] / count);
      if (grad_mean != nullptr) by_mean.push_back(grad_mean[at] / count);
      if (grad_variance != nullptr) by_variance.push_back(grad_variance[at] * T(2) / count);
    }
  }
  NormalizationGradient<T> at(const T* mean, std::int64_t c) const {
    return {mean + c,
            rstd.data() + c,
            flat.data() + c,
            apart.data() + c,
            slope.data() + c,
            by_mean.empty() ? nullptr : by_mean.data() + c,
            by_variance.empty() ? nullptr : by_variance.data() + c};
  }
};

// in: grad, x, weight?, grad_mean?, grad_variance?, mean?, variance?
template <class T>
void normalize_backward(Inputs in, Outputs outputs, double eps) {
  const DType dtype = in[1].dtype();
  const DType wide = ops::compute_dtype(dtype);
  const Tensor g = dense(in[0], wide), x = dense(in[1], wide), weight = affine(in[2], dtype);
  const Tensor by_mean = affine(in[3], wide), by_variance = affine(in[4], wide);
  const Tensor dx = computed_in(outputs[0], wide);
  const Tensor &dweight = outputs[1], &dbias = outputs[2];
  const Tensor mean = in[5] ? dense(in[5], wide) : Tensor::empty(IntDims{x.size(1)}, wide, Device{});
  const Tensor variance = in[6] ? dense(in[6], wide) : Tensor::empty(IntDims{x.size(1)}, wide, Device{});
  const T *grads = g.data<T>(), *from = x.data<T>();
  T *out = dx.writable<T>(), *weights = dweight.writable<T>(), *biases = dbias.writable<T>();
  Channels(x.sizes()).each_block([&](const ChannelBlock& block) {
    if (!in[5]) find_statistics<T>(x, block, mean, variance);
    const T* center = mean.data<T>() + block.first;
    Shares<T> shares;
    shares.rstd = reciprocal_roots(variance.data<T>() + block.first, block.count, eps);
    if (block.inner == 1) {
      column_sums_of(g, x, center, shares.rstd.data(), weights, biases);
    } else {
      sums_of_made(block, weights + block.first, [&](const Run& run, std::int64_t at, T* to, std::int64_t c) {
        channel_kernels<T>().products(run, {center + c, shares.rstd.data() + c, nullptr, nullptr}, grads + at,
                                      from + at, to);
      });
      sums_of(g, block, T(1), biases + block.first);
    }
    shares.find(block, weights, biases, data_or_null<T>(weight), data_or_null<T>(by_mean),
                data_or_null<T>(by_variance));
    each_run(block, [&](const Run& run, std::int64_t at, std::int64_t, std::int64_t c) {
      channel_kernels<T>().gradient(run, shares.at(center, c), grads + at, from + at, out + at);
    });
  });
  finish(outputs[0], dx);
}

bool takes_elements(const Op&, const Attrs&, Inputs in) { return in[0].numel() > 0; }

void run_forward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const double eps = attrs.get<double>("eps");
  in[0].dtype() == DType::F64 ? normalize<double>(in, outputs, eps) : normalize<float>(in, outputs, eps);
}
void run_backward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const double eps = attrs.get<double>("eps");
  in[1].dtype() == DType::F64 ? normalize_backward<double>(in, outputs, eps)
                              : normalize_backward<float>(in, outputs, eps);
}

}  // namespace

void add_batch_norm_kernels(Column& column) {
  column.add("batch_norm_with_statistics", {.run = run_forward, .takes = takes_elements});
  column.add("batch_norm_backward", {.run = run_backward, .takes = takes_elements});
}

}  // namespace kiln::cpu
