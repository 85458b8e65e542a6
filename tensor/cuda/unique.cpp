// The kernel of unique on cards: counting sorts and finds where runs of equal elements begin, the rest reads
// that.
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/unique_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/sort.h"
#include "tensor/cuda/true_places.h"
#include "tensor/functions.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kUniqueText = R"(#include "tensor/cuda/kernels/unique.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) distinct(const {} job) {{ {}(job); }}
)";

template <class Job>
void launch(Device device, const char* job_name, const std::string& body, const Job& job,
            std::int64_t threads) {
  Context& context = Context::of(device);
  run(context,
      {.function = function_of(context, fmt::format(kUniqueText, job_name, body), "distinct"),
       .threads = threads},
      job);
}

long long* places_to_write(const Tensor& x) { return reinterpret_cast<long long*>(x.raw_writable()); }
const long long* places_of(const Tensor& x) { return reinterpret_cast<const long long*>(x.raw()); }

bool is_by_slice(const Attrs& attrs) { return attrs.has("dim"); }
int slice_dim(const Tensor& x, const Attrs& attrs) { return rules::dim_attr(attrs, "dim", x.rank()); }

// What is compared, as rows of a contiguous matrix: slices along `dim`, whose other dimensions stay in order,
// or elements.
Tensor compared_rows(const Tensor& x, const Attrs& attrs) {
  if (!is_by_slice(attrs)) return ops::view(in_order(x), Dims{x.numel(), 1});
  const int dim = slice_dim(x, attrs);
  Dims order{dim};
  for (int d = 0; d < x.rank(); ++d)
    if (d != dim) order.push_back(d);
  const Tensor slices = in_order(ops::permute(x, order));
  const Dim rows = x.size(dim);
  return ops::view(slices, Dims{rows, rows == 0 ? Dim(0) : x.numel() / rows});
}

OrderJob keys_of(const Tensor& rows) {
  OrderJob job = order_job(rows, false);
  job.rows = rows.size(0).fixed();
  return job;
}

// ---- Order ----

Tensor order_by_merging(const Tensor& rows) {
  Tensor order = ops::arange(0, rows.size(0), 1, DType::I64, rows.device());
  Tensor next = Tensor::empty(order.sizes(), DType::I64, rows.device());
  MergeJob job{.keys = keys_of(rows), .run = 1, .from = nullptr, .to = nullptr};
  for (; job.run < job.keys.rows; job.run *= 2) {
    job.from = places_of(order);
    job.to = places_to_write(next);
    launch(rows.device(), "MergeJob", fmt::format("merge_runs<{}>", keys_name(rows.dtype())), job,
           job.keys.rows);
    std::swap(order, next);
  }
  return order;
}

Tensor order_of(const Tensor& rows) {
  return rows.size(1) == 1 ? stable_order(ops::view(rows, Dims{rows.size(0)})) : order_by_merging(rows);
}

Tensor starts_of(const Tensor& rows, const Tensor& order) {
  Tensor starts = Tensor::empty(order.sizes(), DType::Bool, order.device());
  const RunsJob job{.keys = keys_of(rows),
                    .order = places_of(order),
                    .starts = reinterpret_cast<bool*>(starts.raw_writable())};
  launch(rows.device(), "RunsJob", fmt::format("mark_starts<{}>", keys_name(rows.dtype())), job,
         job.keys.rows);
  return starts;
}

// The work: the sorted order, which places of it begin a run, and these places.
CountedOutputs count_unique(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  const Tensor& x = inputs[0];
  const Tensor rows = compared_rows(x, attrs), order = order_of(rows), starts = starts_of(rows, order);
  const Tensor firsts = TrueElements(starts).places(IntDims(starts.sizes()), IntDims{1});
  IntDims sizes{firsts.numel()}, inverse = x.sizes();
  if (is_by_slice(attrs)) {
    const auto dim = static_cast<std::size_t>(slice_dim(x, attrs));
    inverse = IntDims{x.sizes()[dim]};
    sizes = x.sizes();
    sizes[dim] = firsts.numel();
  }
  std::vector<TensorType> types{{x.dtype(), x.device(), sizes}};
  if (attrs.get<bool>("return_inverse")) types.push_back({DType::I64, x.device(), inverse});
  if (attrs.get<bool>("return_counts")) types.push_back({DType::I64, x.device(), IntDims{firsts.numel()}});
  return {std::move(types), {order, starts, firsts}};
}

// ---- Results ----

void take_slices(const Tensor& result, const Tensor& rows, const Tensor& places) {
  const SlicesJob job{.rows = places.numel().fixed(),
                      .length = rows.size(1).fixed(),
                      .source = rows.raw(),
                      .places = places_of(places),
                      .result = result.raw_writable()};
  launch(result.device(), "SlicesJob", fmt::format("take_slices<{}>", element_name(as_bits(rows).dtype())),
         job, job.rows * job.length);
}

// Distinct slices, along the dimension that they were compared along.
void put_slices(const Tensor& result, const Tensor& x, const Attrs& attrs, const Tensor& places) {
  if (result.numel() == 0) return;
  const Tensor rows = compared_rows(x, attrs);
  const int dim = is_by_slice(attrs) ? slice_dim(x, attrs) : 0;
  if (dim == 0) return take_slices(result, rows, places);
  const Tensor first = ops::permute(result, [&] {
    Dims order{dim};
    for (int d = 0; d < x.rank(); ++d)
      if (d != dim) order.push_back(d);
    return order;
  }());
  const Tensor taken = Tensor::empty(first.sizes(), result.dtype(), result.device());
  take_slices(taken, rows, places);
  copy_elements(first, taken);
}

// Which run each element belongs to.
void put_numbers(const Tensor& result, const Tensor& order, const Tensor& starts) {
  const Tensor numbers = ops::cumsum(starts, 0);
  const NumbersJob job{.count = order.numel().fixed(),
                       .order = places_of(order),
                       .numbers = places_of(numbers),
                       .result = places_to_write(result)};
  launch(result.device(), "NumbersJob", "number_elements", job, job.count);
}

void put_lengths(const Tensor& result, const Tensor& firsts, std::int64_t end) {
  const LengthsJob job{.count = firsts.numel().fixed(),
                       .end = end,
                       .places = places_of(firsts),
                       .result = places_to_write(result)};
  launch(result.device(), "LengthsJob", "find_lengths", job, job.count);
}

void unique(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &order = inputs[1], &starts = inputs[2], &firsts = inputs[3];
  const Tensor places = Tensor::empty(firsts.sizes(), DType::I64, firsts.device());
  take_of_rows(places, order, firsts);
  put_slices(outputs[0], x, attrs, places);
  std::size_t next = 1;
  if (attrs.get<bool>("return_inverse")) put_numbers(outputs[next++], order, starts);
  if (attrs.get<bool>("return_counts")) put_lengths(outputs[next], firsts, order.numel());
}

}  // namespace

void add_unique_kernels(Kernels& kernels) {
  kernels.add("unique", {.count = count_unique, .run_counted = unique});
}

}  // namespace kiln::cuda
