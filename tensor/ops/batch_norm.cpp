// Owns batch_norm, over a kernel that normalizes channels by their own statistics and its derivative's, and
// group_norm over layer_norm. Both kernels bring a few channels together in cache and stay there: they read
// and write memory once.
#include <cmath>

#include "tensor/ops/channel_rows.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using cpu::ChannelBlock;
using ops::all_but_channels;
using ops::Channels;
using ops::need_channels;
using ops::per_channel;
using ops::Tile;

// ---- Shapes ----------------------------------------------------------------------------------------------

// Absent, or one number per channel.
void check_per_channel(const TensorType& v, const TensorType& x, const Attrs& attrs, int operand,
                       const char* what) {
  if (v.is_number || v.sizes == Dims{x.sizes[1]}) return;
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": the " + what + " is " + to_string(v) +
                    " and needs shape " + to_string(Dims{x.sizes[1]}),
                {operand}, std::string("give one ") + what + " per channel");
}

TensorType statistics_type(const TensorType& x) {
  return {ops::compute_dtype(x.dtype), x.device, Dims{x.sizes[1]}, false};
}

// ---- Kernels ---------------------------------------------------------------------------------------------

template <class T>
const T* data_or_null(const Tensor& x) {
  return x ? x.data<T>() : nullptr;
}

// Absent tensors stay absent. As the composition has it: first the dtype of x, then that of computation.
Tensor affine(const Tensor& v, DType dtype) {
  return v ? ops::dense(ops::cast(v, dtype), ops::compute_dtype(dtype)) : Tensor();
}

template <class T>
std::vector<T> reciprocal_roots(const T* variance, std::int64_t count, double eps) {
  std::vector<T> roots(static_cast<std::size_t>(count));
  for (std::size_t c = 0; c < roots.size(); ++c)
    roots[c] = T(1) / std::sqrt(variance[c] + static_cast<T>(eps));
  return roots;
}

template <class T>
Tensors normalize(Inputs in, double eps) {
  const DType dtype = in[0].dtype();
  const Tensor x = ops::dense(in[0], ops::compute_dtype(dtype));
  const Tensor weight = affine(in[1], dtype), bias = affine(in[2], dtype);
  const Tensor y = Tensor::empty(x.sizes(), x.dtype(), x.device());
  const Tensor mean = Tensor::empty(Dims{x.size(1)}, x.dtype(), x.device());
  const Tensor variance = Tensor::empty(Dims{x.size(1)}, x.dtype(), x.device());
  const T* from = x.data<T>();
  const T* scale = data_or_null<T>(weight);
  const T* shift = data_or_null<T>(bias);
  T* out = y.writable<T>();
  T* means = mean.writable<T>();
  T* variances = variance.writable<T>();
  Channels(x.sizes()).each_block([&](const ChannelBlock& block) {
    const Tile<T> tile(block, from);
    const auto count = static_cast<T>(block.length());
    T* center = means + block.first;
    tile.sums(count, center);
    const Tensor centers = Tensor::alias(mean, {Dims{block.count}, Dims{1}, block.first});
    tile.sums(count, variances + block.first, cpu::Map::CenteredSquare, centers);
    const auto rstd = reciprocal_roots(variances + block.first, block.count, eps);
    std::vector<T> factors(rstd.size(), T(1));  // which changes no bit
    if (scale != nullptr) std::copy_n(scale + block.first, factors.size(), factors.data());
    cpu::each_run(block,
                  [&](std::int64_t at, std::int64_t place, std::int64_t c, std::int64_t length, auto step) {
                    const T* __restrict in_x = tile.data + place, * __restrict m = center + c;
                    const T* __restrict r = rstd.data() + c, * __restrict f = factors.data() + c;
                    T* __restrict to = out + at;
                    for (std::int64_t e = 0; e < length; ++e)
                      to[e] = (in_x[e] - m[e * step]) * r[e * step] * f[e * step];
                    if (shift == nullptr) return;
                    const T* __restrict term = shift + block.first + c;
                    for (std::int64_t e = 0; e < length; ++e) to[e] += term[e * step];
                  });
  });
  return {ops::cast(y, dtype), mean, variance};
}

// in: grad, x, weight?, grad_mean?, grad_variance?
template <class T>
Tensors normalize_backward(Inputs in, double eps) {
  const DType dtype = in[1].dtype();
  const DType wide = ops::compute_dtype(dtype);
  const Tensor g = ops::dense(in[0], wide), x = ops::dense(in[1], wide), weight = affine(in[2], dtype);
  const Tensor by_mean = affine(in[3], wide), by_variance = affine(in[4], wide);
  const Tensor dx = Tensor::empty(x.sizes(), wide, x.device());
  const Tensor dweight = Tensor::empty(Dims{x.size(1)}, wide), dbias = Tensor::empty(Dims{x.size(1)}, wide);
  const T *grads = g.data<T>(), *from = x.data<T>(), *scale = data_or_null<T>(weight);
  const T *mean_share = data_or_null<T>(by_mean), *variance_share = data_or_null<T>(by_variance);
  T *out = dx.writable<T>(), *weights = dweight.writable<T>(), *biases = dbias.writable<T>();
  Channels(x.sizes()).each_block([&](const ChannelBlock& block) {
    const Tile<T> upper(block, grads), normal(block, from), products(block);
    const auto size = static_cast<std::size_t>(block.count);
    const auto count = static_cast<T>(block.length());
    const std::int64_t first = block.first;
    const Tensor centers = Tensor::empty(Dims{block.count}, wide);
    T* center = centers.writable<T>();
    std::vector<T> variances(size), slope(size), apart(size), flat(size);
    std::vector<T> mean_shares, variance_shares;  // empty when no gradient comes that way
    normal.sums(count, center);
    normal.sums(count, variances.data(), cpu::Map::CenteredSquare, centers);
    const auto rstd = reciprocal_roots(variances.data(), block.count, eps);
    cpu::each_run(block, [&](std::int64_t, std::int64_t place, std::int64_t c, std::int64_t length,
                             auto step) {
      const T* __restrict up = upper.data + place, * __restrict m = center + c, * __restrict r = rstd.data() + c;
      T* __restrict xhat = normal.data + place, * __restrict product = products.data + place;
      for (std::int64_t e = 0; e < length; ++e) {
        xhat[e] = (xhat[e] - m[e * step]) * r[e * step];
        product[e] = up[e] * xhat[e];
      }
    });
    products.sums(T(1), weights + first);
    upper.sums(T(1), biases + first);
    for (std::size_t c = 0; c < size; ++c) {
      const std::int64_t at = first + static_cast<std::int64_t>(c);
      slope[c] = scale != nullptr ? rstd[c] * scale[at] : rstd[c];
      apart[c] = weights[at] / count;
      flat[c] = biases[at] / count;
      if (mean_share != nullptr) mean_shares.push_back(mean_share[at] / count);
      if (variance_share != nullptr) variance_shares.push_back(variance_share[at] * T(2) / count);
    }
    cpu::each_run(block,
                  [&](std::int64_t at, std::int64_t place, std::int64_t c, std::int64_t length, auto step) {
                    const T* __restrict up = upper.data + place, * __restrict xhat = normal.data + place;
                    const T* __restrict low = flat.data() + c, * __restrict far = apart.data() + c;
                    const T* __restrict s = slope.data() + c;
                    T* __restrict to = out + at;
                    for (std::int64_t e = 0; e < length; ++e)
                      to[e] = (up[e] - low[e * step] - xhat[e] * far[e * step]) * s[e * step];
                    const T* __restrict in_x = from + at, * __restrict m = center + c;
                    if (!mean_shares.empty())
                      for (std::int64_t e = 0; e < length; ++e)
                        to[e] += mean_shares[static_cast<std::size_t>(c + e * step)];
                    if (!variance_shares.empty()) {
                      const T* __restrict v = variance_shares.data() + c;
                      for (std::int64_t e = 0; e < length; ++e)
                        to[e] += (in_x[e] - m[e * step]) * v[e * step];
                    }
                  });
  });
  return {ops::cast(dx, dtype), dweight, dbias};
}

// ---- The same over smaller ops ---------------------------------------------------------------------------

struct Standard {
  Tensor x, mean, variance, rstd;  // in the dtype of computation
  Dims dims;
  double count;
  Standard(const Tensor& input, double eps)
      : x(ops::to(input, ops::compute_dtype(input.dtype()))),
        dims(all_but_channels(input.rank())),
        count(static_cast<double>(ops::reduced_count(input.sizes(), dims))) {
    mean = ops::sum(x, dims, true) / count;
    const Tensor d = x - mean;
    variance = ops::sum(d * d, dims, true) / count;
    rstd = ops::reciprocal(ops::sqrt(variance + eps));
  }
  Tensor apart() const { return x - mean; }
  Tensor flat(const Tensor& v) const { return ops::reshape(v, Dims{x.size(1)}); }
};

Tensors decompose_normalize(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype();
  const Standard standard(in[0], attrs.get<double>("eps"));
  Tensor y = standard.apart() * standard.rstd;
  if (in[1]) y = y * per_channel(ops::to(in[1], dtype), y);
  if (in[2]) y = y + per_channel(ops::to(in[2], dtype), y);
  return {ops::to(y, dtype), standard.flat(standard.mean), standard.flat(standard.variance)};
}

Tensors decompose_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[1].dtype();
  const Standard standard(in[1], attrs.get<double>("eps"));
  const double count = standard.count;
  const Tensor g = ops::to(in[0], standard.x.dtype());
  const Tensor xhat = standard.apart() * standard.rstd;
  const Tensor dweight = ops::sum(g * xhat, standard.dims), dbias = ops::sum(g, standard.dims);
  Tensor slope = standard.rstd;
  if (in[2]) slope = slope * per_channel(ops::to(in[2], dtype), g);
  const Tensor rest = g - per_channel(dbias, g) / count;
  Tensor dx = (rest - xhat * (per_channel(dweight, g) / count)) * slope;
  if (in[3]) dx = dx + per_channel(in[3], dx) / count;
  if (in[4]) dx = dx + standard.apart() * (per_channel(in[4], dx) * 2.0 / count);
  return {ops::to(dx, dtype), dweight, dbias};
}

// ---- Rules -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer_normalize(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[0], attrs, 0);
  check_per_channel(in[1], in[0], attrs, 1, "weight");
  check_per_channel(in[2], in[0], attrs, 2, "bias");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}, statistics_type(in[0]), statistics_type(in[0])};
}
Tensors run_normalize(const Op& op, Inputs in, const Attrs& attrs) {
  if (in[0].numel() == 0) return decompose_normalize(op, in, attrs);
  const double eps = attrs.get<double>("eps");
  return in[0].dtype() == DType::F64 ? normalize<double>(in, eps) : normalize<float>(in, eps);
}

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[1], attrs, 1);
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) +
                      " needs a gradient of the type of x: " + to_string(in[0]) + " and " + to_string(in[1]),
                  {0, 1}, "give both the same shape and dtype");
  }
  check_per_channel(in[2], in[1], attrs, 2, "weight");
  check_per_channel(in[3], in[1], attrs, 3, "gradient of the mean");
  check_per_channel(in[4], in[1], attrs, 4, "gradient of the variance");
  return {{in[1].dtype, in[1].device, in[1].sizes, false}, statistics_type(in[1]), statistics_type(in[1])};
}
Tensors run_backward(const Op& op, Inputs in, const Attrs& attrs) {
  if (in[1].numel() == 0) return decompose_backward(op, in, attrs);
  const double eps = attrs.get<double>("eps");
  return in[1].dtype() == DType::F64 ? normalize_backward<double>(in, eps)
                                     : normalize_backward<float>(in, eps);
}

Tensors normalize_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("batch_norm_backward");
  const Tensor inputs[] = {args.grads[0], args.inputs[0], args.inputs[1], args.grads[1], args.grads[2]};
  Tensors grads = ops::apply(row, inputs, {{"eps", args.attrs.at("eps")}});
  for (std::size_t i = 1; i < 3; ++i)
    grads[i] = args.needs[i] ? ops::to(grads[i], args.input_types[i].dtype) : Tensor();
  return grads;
}

// ---- batch_norm ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_batch_norm(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[0], attrs, 0);
  static constexpr const char* kNames[] = {"", "running_mean", "running_var", "weight", "bias"};
  for (int i = 1; i < 5; ++i) check_per_channel(in[static_cast<std::size_t>(i)], in[0], attrs, i, kNames[i]);
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

void update_running(const Tensor& running, const Tensor& now, double momentum) {
  if (!running) return;
  static const Op& mul = OpTable::get().at("mul");
  static const Op& add = OpTable::get().at("add");
  const Tensor kept[] = {running, Tensor::number(1.0 - momentum)};
  bind_inplace(mul, kept, Attrs(mul));
  const Tensor fresh[] = {running, ops::to(ops::detach(now), running.dtype()) * momentum};
  bind_inplace(add, fresh, Attrs(add));
}

Tensor by_batch(Inputs in, const Attrs& attrs) {
  const bool training = attrs.get<bool>("training");
  const auto count = static_cast<double>(ops::reduced_count(in[0].sizes(), all_but_channels(in[0].rank())));
  if (training && count < 2) {
    throw OpError(ErrorKind::Value,
                  "batch_norm: one value per channel has no variance to train with, and x is " +
                      to_string(in[0].type()),
                  {0}, "use a larger batch, or training=false");
  }
  static const Op& row = OpTable::get().at("batch_norm_with_statistics");
  const Tensor inputs[] = {in[0], in[3], in[4]};
  const Tensors results = ops::apply(row, inputs, {{"eps", attrs.at("eps")}});
  if (training) {
    const double momentum = attrs.get<double>("momentum");
    update_running(in[1], results[1], momentum);
    update_running(in[2], results[2] * (count / (count - 1.0)), momentum);
  }
  return results[0];
}

Tensor affine_of(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  static const Op& row = OpTable::get().at("channel_affine");
  return rules::apply_one(row, {x, scale, shift});
}

Tensor by_running(Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype(), wide = ops::compute_dtype(dtype);
  Tensor scale = ops::rsqrt(ops::to(in[2], wide) + attrs.get<double>("eps"));
  if (in[3]) scale = scale * ops::to(in[3], wide);
  Tensor shift = -(ops::to(in[1], wide) * scale);
  if (in[4]) shift = shift + ops::to(in[4], wide);
  return ops::to(affine_of(ops::to(in[0], wide), scale, shift), dtype);
}

Tensors batch_norm(const Op&, Inputs in, const Attrs& attrs) {
  if (attrs.get<bool>("training") || !in[1] || !in[2]) return {by_batch(in, attrs)};
  return {by_running(in, attrs)};
}

// ---- group_norm ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_group_norm(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  const std::int64_t groups = attrs.get<std::int64_t>("num_groups");
  if (in[0].sizes.size() < 2 || groups < 1 || in[0].sizes[1] % groups != 0) {
    throw OpError(ErrorKind::Shape,
                  "group_norm: the channels of " + to_string(in[0]) + " (dimension 1) do not divide into " +
                      std::to_string(groups) + " groups",
                  {0}, "num_groups must divide the number of channels");
  }
  check_per_channel(in[1], in[0], attrs, 1, "weight");
  check_per_channel(in[2], in[0], attrs, 2, "bias");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

Tensors group_norm(const Op&, Inputs in, const Attrs& attrs) {
  const Tensor& x = in[0];
  if (x.numel() == 0) return {ops::clone(x)};
  const Dim rows = x.size(0) * attrs.get<std::int64_t>("num_groups");
  const Dims shape{x.numel() / rows};
  static const Op& layer_norm = OpTable::get().at("layer_norm");
  const Tensor inputs[] = {ops::reshape(x, Dims{rows, shape[0]}), Tensor(), Tensor()};
  const Tensor normal =
      ops::apply(layer_norm, inputs, {{"normalized_shape", shape}, {"eps", attrs.at("eps")}})[0];
  Tensor y = ops::reshape(normal, x.sizes());
  if (in[1] && in[2]) return {affine_of(y, ops::to(in[1], x.dtype()), ops::to(in[2], x.dtype()))};
  if (in[1]) y = y * per_channel(in[1], x);
  if (in[2]) y = y + per_channel(in[2], x);
  return {y};
}

// ---- Rows ------------------------------------------------------------------------------------------------

Op kernel_row(std::string_view signature, std::string_view documentation, std::string_view example,
              InferFn infer, EagerFn kernel, EagerFn body) {
  Op row = ops::composite_row(signature, documentation, example, infer, kernel);
  row.decompose = body;
  row.traits = kFusible;
  row.outputs = 3;
  return row;
}

}  // namespace

void add_batch_norm_ops(OpTable& table) {
  Op forward = kernel_row(
      "batch_norm_with_statistics(x: tensor, weight: tensor? = none, bias: tensor? = none, eps: float = "
      "1e-5)",
      "`batch_norm` by the statistics of x itself, together with each channel's mean and variance (divided "
      "by "
      "the count).",
      ">>> batch_norm_with_statistics(tensor([[1.0], [3.0]]))[1].tolist()\n[2.0]", infer_normalize,
      run_normalize, decompose_normalize);
  forward.vjp = normalize_vjp;
  forward.saves = saves_input(0) | saves_input(1);
  table.add(std::move(forward));
  table.add(kernel_row(
      "batch_norm_backward(grad: tensor, x: tensor, weight: tensor? = none, grad_mean: tensor? = none, "
      "grad_variance: tensor? = none, eps: float = 1e-5)",
      "The gradients of batch_norm_with_statistics to x, weight and bias from those to its results.",
      ">>> batch_norm_backward(ones(2, 2), ones(2, 2))[2].tolist()\n[2.0, 2.0]", infer_backward, run_backward,
      decompose_backward));
  table.add(ops::composite_row(
      "batch_norm(x: tensor, running_mean: tensor? = none, running_var: tensor? = none, weight: tensor? = "
      "none, bias: tensor? = none, training: bool = false, momentum: float = 0.1, eps: float = 1e-5)",
      "Normalizes each channel (dimension 1) by its mean and variance: of this batch when `training`, which "
      "also moves the running ones towards them by `momentum`; else the running ones.",
      ">>> batch_norm(tensor([[1.0], [1.0]]), training=true).tolist()\n[[0.0], [0.0]]", infer_batch_norm,
      batch_norm, "BatchNormalization"));
  table.add(ops::composite_row(
      "group_norm(x: tensor, num_groups: int, weight: tensor? = none, bias: tensor? = none, eps: float = "
      "1e-5)",
      "Normalizes each group of channels (dimension 1) of each example by its own mean and variance.",
      ">>> group_norm(ones(1, 2, 2), 2).tolist()\n[[[0.0, 0.0], [0.0, 0.0]]]", infer_group_norm, group_norm,
      "GroupNormalization"));
}

}  // namespace kiln
