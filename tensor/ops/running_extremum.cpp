// Owns running extrema: the greatest or least element so far along a dimension, and where it is.
#include <algorithm>

#include "tensor/cpu/folds/sequence_shape.h"
#include "tensor/cpu/order/order_key.h"
#include "tensor/integers.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"

namespace kiln {
namespace {

// ---- Kernel ----------------------------------------------------------------------------------------------

// Of equals the later is taken; no number is better than nan. Elements are taken bit by bit, whatever their
// type.
template <class Order>
struct RunningJob {
  using Key = decltype(Order::flip);
  Order order;
  cpu::SequenceShape shape;
  const Key* from;
  Key* values;
  std::int64_t* places;
};

// kRows sequences along memory side by side, as each step of one waits for the one before.
template <std::int64_t kRows, class Order>
void run_together(const RunningJob<Order>& job, std::int64_t row) {
  using Key = typename RunningJob<Order>::Key;
  const std::int64_t count = job.shape.count;
  Key best[kRows], values[kRows] = {};
  std::int64_t places[kRows] = {};
  std::fill_n(best, kRows, std::numeric_limits<Key>::min());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      const std::int64_t at = (row + r) * count + i;
      const Key element = job.from[at], key = job.order(element);
      const bool takes = key >= best[r];
      best[r] = takes ? key : best[r];
      values[r] = takes ? element : values[r];
      places[r] = takes ? i : places[r];
      job.values[at] = values[r];
      job.places[at] = places[r];
    }
  }
}

template <class Order>
void run_rows(const RunningJob<Order>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTogether = 4;
  std::int64_t row = begin;
  for (; row + kTogether <= end; row += kTogether) run_together<kTogether>(job, row);
  for (; row < end; ++row) run_together<1>(job, row);
}

constexpr std::int64_t kStrip = 256;

// Strips of neighbouring sequences. What was written for the elements before is what they are compared with.
template <class Order>
void run_columns(const RunningJob<Order>& job, std::int64_t begin, std::int64_t end) {
  using Key = typename RunningJob<Order>::Key;
  const std::int64_t count = job.shape.count, inner = job.shape.inner, strips = ceil_divide(inner, kStrip);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % strips * kStrip, width = std::min(kStrip, inner - first);
    std::int64_t at = unit / strips * count * inner + first;
    std::copy_n(job.from + at, width, job.values + at);
    std::fill_n(job.places + at, width, 0);
    for (std::int64_t i = 1; i < count; ++i) {
      const Key* before = job.values + at;
      const std::int64_t* places_before = job.places + at;
      at += inner;
      const Key* from = job.from + at;
      Key* values = job.values + at;
      std::int64_t* places = job.places + at;
      for (std::int64_t w = 0; w < width; ++w) {
        const bool takes = job.order(from[w]) >= job.order(before[w]);
        values[w] = takes ? from[w] : before[w];
        places[w] = takes ? i : places_before[w];
      }
    }
  }
}

template <bool kGreatest>
Tensors running_eager(const Op&, Inputs in, const Attrs& attrs) {
  const Tensor x = ops::dense(in[0], in[0].dtype());
  const Tensor values = Tensor::empty(x.sizes(), x.dtype(), x.device());
  const Tensor places = Tensor::empty(x.sizes(), DType::I64, x.device());
  if (x.numel() == 0) return {values, places};
  const cpu::SequenceShape shape(x, wrap_dim(attrs.get<std::int64_t>("dim"), x.rank(), attrs.op()->name()));
  cpu::visit_order(x.dtype(), kGreatest, [&]<class Order>(const Order& order) {
    using Key = decltype(Order::flip);
    const RunningJob<Order> job{order, shape, reinterpret_cast<const Key*>(x.raw()),
                                reinterpret_cast<Key*>(values.raw_writable()),
                                places.writable<std::int64_t>()};
    const std::int64_t units = shape.outer * ceil_divide(shape.inner, kStrip);
    const std::int64_t work = shape.count * std::min(shape.inner, kStrip);
    parallel_for(units, std::max<std::int64_t>(1, 16384 / work), [&](std::int64_t begin, std::int64_t end) {
      if (shape.inner == 1) return run_rows(job, begin, end);
      run_columns(job, begin, end);
    });
  });
  return {values, places};
}

// ---- Rules -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer_running(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType& x = in[0];
  wrap_dim(attrs.get<std::int64_t>("dim"), static_cast<int>(x.sizes.size()), attrs.op()->name());
  return {{x.dtype, x.device, x.sizes, false}, {DType::I64, x.device, x.sizes, false}};
}

// The gradient of the values goes to where they came from.
Tensors running_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  if (x.sizes.empty()) return {args.grads[0]};
  const int rank = static_cast<int>(x.sizes.size());
  const int dim = wrap_dim(args.attrs.get<std::int64_t>("dim"), rank, args.attrs.op()->name());
  return {ops::scatter_add(ops::zeros(x.sizes, x.dtype, x.device), dim, args.outputs[1], args.grads[0])};
}

Tensors running_jvp(const JvpArgs& args) {
  const Tensor& tangent = args.tangents[0];
  if (tangent.rank() == 0) return {tangent, Tensor()};
  const int dim = wrap_dim(args.attrs.get<std::int64_t>("dim"), tangent.rank(), args.attrs.op()->name());
  return {ops::gather(tangent, dim, args.outputs[1]), Tensor()};
}

template <bool kGreatest>
void add(OpTable& table, std::string_view signature, std::string_view documentation,
         std::string_view example) {
  table.add({
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_running,
      .eager = running_eager<kGreatest>,
      .vjp = running_vjp,
      .jvp = running_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(1),
      .lowering = Lowering::Library,
      .outputs = 2,
  });
}

}  // namespace

void add_running_extremum_ops(OpTable& table) {
  add<true>(
      table, "cummax(x: tensor, dim: index) -> (values, indices)",
      "The greatest element so far along `dim` and the index of the last such, as a tuple; from a nan on "
      "they are nan.",
      ">>> cummax(tensor([1, 3, 2, 3]), 0)\n(tensor([1, 3, 3, 3]), tensor([0, 1, 1, 3]))");
  add<false>(table, "cummin(x: tensor, dim: index) -> (values, indices)",
             "The least element so far along `dim` and the index of the last such, as a tuple; from a nan on "
             "they are nan.",
             ">>> cummin(tensor([3, 1, 2, 1]), 0)\n(tensor([3, 1, 1, 1]), tensor([0, 1, 1, 3]))");
}

}  // namespace kiln
