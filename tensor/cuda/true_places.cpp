// Kernels on cards of the rows whose sizes elements decide: which ones are not zero, and how often rows are
// repeated.
#include "tensor/cuda/true_places.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tensor/backend.h"
#include "tensor/cuda/axes.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/true_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/fixed_order.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/integers.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kTruePlacesText = R"(#include "tensor/cuda/kernels/true_places.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(256) count_true_elements(const TrueJob job) { count_true(job); }
extern "C" __global__ void __launch_bounds__(256) true_places(const TrueJob job) { put_true_places(job); }
extern "C" __global__ void __launch_bounds__(256) true_indices(const TrueJob job) { put_true_indices(job); }
extern "C" __global__ void __launch_bounds__(256) repeated_rows(const RepeatJob job) { put_repeated_rows(job); }
)";

template <class Job>
void launch(Device device, const char* name, const Job& job, std::int64_t threads) {
  Context& context = Context::of(device);
  run(context, {.function = function_of(context, std::string(kTruePlacesText), name), .threads = threads},
      job);
}

std::int64_t integer_on_host(const Tensor& x, std::int64_t at) {
  const Tensor one = Tensor::alias(x, Layout{{}, {}, x.offset() + at});
  return *HostView(one, DType::I64).as<std::int64_t>();
}

// Of contiguous flags; `counts` has one more than there are blocks.
TrueJob true_job(const Tensor& flags, const Tensor& counts) {
  TrueJob job{};
  job.count = flags.numel().fixed();
  job.blocks = ceil_divide(job.count, Count{kTrueBlock});
  job.before = counts.writable<Count>();
  job.flags = flags.data<bool>();
  return job;
}

void launch(Device device, const char* name, const TrueJob& job) {
  launch(device, name, job, job.blocks * kReductionLanes);
}

}  // namespace

// ---- Elements that are true ------------------------------------------------------------------------------

TrueElements::TrueElements(const Tensor& x) : flags_(in_order(ops::to(x, DType::Bool))) {
  const std::int64_t blocks = ceil_divide(flags_.numel().fixed(), std::int64_t{kTrueBlock});
  const Tensor counts = Tensor::empty(Dims{blocks + 1}, DType::I64, x.device());
  fill_elements(Tensor::alias(counts, Layout{{1}, {1}, 0}), Tensor::number(false));
  launch(x.device(), "count_true_elements", true_job(flags_, counts));
  before_ = ops::cumsum(counts, 0);
  count_ = integer_on_host(before_, blocks);
}

Tensor TrueElements::places(const IntDims& sizes, const IntDims& strides) const {
  const Tensor result = Tensor::empty(Dims{count_}, DType::I64, flags_.device());
  if (count_ == 0) return result;
  const WalkAxes walk(sizes, {&strides, 1});
  if (!walk.fits()) return sum_of_places(sizes, strides);
  TrueJob job = true_job(flags_, before_);
  job.axes = walk.argument<1>();
  job.result = result.writable<Count>();
  launch(flags_.device(), "true_places", job);
  return result;
}

// Of more dimensions than a launch takes, which have no steps in common.
Tensor TrueElements::sum_of_places(const IntDims& sizes, const IntDims& strides) const {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const Tensor indices = Tensor::empty(Dims{count_, rank}, DType::I64, flags_.device());
  put_indices(indices, sizes);
  Tensor places = ops::zeros(Dims{count_}, DType::I64, flags_.device());
  for (std::int64_t d = 0; d < rank; ++d)
    places = places + ops::select(indices, 1, d) * Tensor::number(strides[static_cast<std::size_t>(d)]);
  return places;
}

// As many dimensions at once as a launch takes, the last ones first.
void TrueElements::put_indices(const Tensor& result, const IntDims& sizes) const {
  if (result.numel() == 0) return;
  TrueJob job = true_job(flags_, before_);
  job.width = static_cast<Count>(sizes.size());
  job.inner = 1;
  for (auto last = static_cast<std::int64_t>(sizes.size()); last > 0; last -= kMostAxes) {
    job.axes.rank = std::min<std::int64_t>(last, kMostAxes);
    for (std::int64_t d = 0; d < job.axes.rank; ++d)
      job.axes.sizes[d] = sizes[static_cast<std::size_t>(last - 1 - d)];
    job.result = result.writable<Count>() + last - 1;
    launch(flags_.device(), "true_indices", job);
    for (std::int64_t d = 0; d < job.axes.rank; ++d) job.inner *= job.axes.sizes[d];
  }
}

namespace {

// ---- nonzero ---------------------------------------------------------------------------------------------

CountedOutputs count_nonzero(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const TrueElements found(inputs[0]);
  return {{{DType::I64, inputs[0].device(), IntDims{found.count(), inputs[0].rank()}}},
          {found.flags(), found.before()}};
}
void nonzero(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  TrueElements(inputs[1], inputs[2], outputs[0].size(0).fixed()).put_indices(outputs[0], inputs[0].sizes());
}

// ---- repeat_interleave -----------------------------------------------------------------------------------

CountedOutputs count_repeats(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor counts = ops::to(inputs[0], DType::I64);
  const std::int64_t rows = counts.numel().fixed();
  const Tensor ends = ops::cumsum(counts, 0);
  if (rows == 0) return {{{DType::I64, counts.device(), IntDims{0}}}, {ends}};
  if (integer_on_host(ops::amin(counts), 0) < 0) {
    const HostView view(counts, DType::I64);
    const auto* const values = view.as<std::int64_t>();
    const std::int64_t first =
        *std::find_if(values, values + rows, [](std::int64_t each) { return each < 0; });
    throw OpError(ErrorKind::Value, fmt::format("repeat_interleave: count {} is negative", first), {0});
  }
  return {{{DType::I64, counts.device(), IntDims{integer_on_host(ends, rows - 1)}}}, {ends}};
}

void repeat_indices(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &ends = inputs[1], &result = outputs[0];
  const RepeatJob job{.count = result.numel().fixed(),
                      .rows = ends.numel().fixed(),
                      .ends = ends.data<Count>(),
                      .result = result.writable<Count>()};
  launch(result.device(), "repeated_rows", job, job.count);
}

}  // namespace

void add_counting_kernels(Kernels& kernels) {
  kernels.add("nonzero", {.count = count_nonzero, .run_counted = nonzero});
  kernels.add("repeat_interleave.counts", {.count = count_repeats, .run_counted = repeat_indices});
}

}  // namespace kiln::cuda
