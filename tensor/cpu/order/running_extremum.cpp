// Kernels of running extrema: the greatest or least element so far along a dimension, and where it is.
#include <algorithm>
#include <limits>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/order/order_key.h"
#include "tensor/cpu/sequence_shape.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// Of equals the later is taken; no number is better than nan. Elements are taken bit by bit, whatever their
// type.
template <class Order>
struct RunningJob {
  using Key = decltype(Order::flip);
  Order order;
  SequenceShape shape;
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
    check_interrupt();
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
      check_interrupt();
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
void running(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor x = dense(inputs[0], inputs[0].dtype());
  if (x.numel() == 0) return;
  const SequenceShape shape(x, wrap_dim(attrs.get<std::int64_t>("dim"), x.rank(), attrs.op()->name()));
  visit_order(x.dtype(), kGreatest, [&]<class Order>(const Order& order) {
    using Key = decltype(Order::flip);
    const RunningJob<Order> job{order, shape, reinterpret_cast<const Key*>(x.raw()),
                                reinterpret_cast<Key*>(outputs[0].raw_writable()),
                                outputs[1].writable<std::int64_t>()};
    const std::int64_t units = shape.outer * ceil_divide(shape.inner, kStrip);
    const std::int64_t work = shape.count * std::min(shape.inner, kStrip);
    parallel_for(units, std::max<std::int64_t>(1, 16384 / work), [&](std::int64_t begin, std::int64_t end) {
      if (shape.inner == 1) return run_rows(job, begin, end);
      run_columns(job, begin, end);
    });
  });
}

}  // namespace

void add_running_extremum_kernels(Column& column) {
  column.add("cummax", running<true>);
  column.add("cummin", running<false>);
}

}  // namespace kiln::cpu
