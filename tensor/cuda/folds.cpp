// Kernels of reductions on cards: one combination of all elements along some dimensions, in the fixed order,
// and where the first extremum is.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "tensor/compute.h"
#include "tensor/cuda/axes.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/fold_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/functions.h"
#include "tensor/integers.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kFoldsText = R"(#include "tensor/cuda/kernels/folds.cuh"

using namespace kiln;
using namespace kiln::cuda;
using Fold = {};

extern "C" __global__ void __launch_bounds__(kThreads) fold_all(const FoldJob job) {{ {}(job); }}
)";
constexpr std::int64_t kFewColumns = 8, kManyColumns = 32;
constexpr std::int64_t kPartsOfLane = 32;

// What is combined, as the text of kernels says it, and the bytes of an accumulator.
struct Form {
  std::string type;
  std::int64_t accumulator_bytes;
};

// ---- Places ----

// The dimensions of outputs as they lie in memory, so that neighbours of threads are neighbours there. What
// repeats is outermost.
IntDims output_dims(const Tensor& x, const IntDims& reduced) {
  IntDims dims;
  for (std::int64_t d = 0; d < x.rank(); ++d)
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) dims.push_back(d);
  const auto stride = [&](std::int64_t d) {
    const std::int64_t each = x.strides()[static_cast<std::size_t>(d)].fixed();
    return each == 0 ? std::numeric_limits<std::int64_t>::max() : each;
  };
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::int64_t a, std::int64_t b) { return stride(a) > stride(b); });
  return dims;
}

// How far apart the results of neighbours along each dimension of x are; 0 along those that are reduced.
IntDims result_strides(const Tensor& x, const IntDims& reduced) {
  IntDims strides(static_cast<std::size_t>(x.rank()), 0);
  std::int64_t stride = 1;
  for (std::int64_t d = x.rank() - 1; d >= 0; --d) {
    if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) continue;
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= x.size(static_cast<int>(d)).fixed();
  }
  return strides;
}

IntDims at(const IntDims& all, const IntDims& dims) {
  IntDims some;
  for (const std::int64_t d : dims) some.push_back(all[static_cast<std::size_t>(d)]);
  return some;
}

struct Walk {
  WalkAxes outer, inner;
  bool fits() const { return outer.fits() && inner.fits(); }
};
Walk walk_of(const Tensor& x, const IntDims& reduced) {
  const IntDims sizes(x.sizes()), strides(x.strides()), outputs = output_dims(x, reduced);
  const IntDims outer[] = {at(strides, outputs), at(result_strides(x, reduced), outputs)};
  const IntDims inner[] = {at(strides, reduced)};
  return {WalkAxes(at(sizes, outputs), outer), WalkAxes(at(sizes, reduced), inner)};
}

// With the reduced dimensions last, row by row: one axis each way.
Tensor laid_out(const Tensor& x, const IntDims& reduced) {
  Dims order;
  for (Dim d = 0; d < x.rank(); ++d)
    if (std::find(reduced.begin(), reduced.end(), d.fixed()) == reduced.end()) order.push_back(d);
  order.append(reduced.begin(), reduced.end());
  return ops::clone(ops::permute(x, order));
}

// ---- Launches ----

// Each walk is a program of its own: few reductions need more than one.
void launch(Context& context, const Form& form, const char* walk, const FoldJob& job, std::int64_t threads) {
  run(context,
      {.function = function_of(context, fmt::format(kFoldsText, form.type, walk), "fold_all"),
       .threads = threads},
      job);
}

std::int64_t group_of(std::int64_t lanes) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(lanes, 1, kReductionLanes))));
}

// Neighbours next to each other in memory are worth a walk down the columns, where elements of a sequence are
// not.
bool goes_by_columns(const FoldJob& job) {
  return job.outer.strides[0][0] == 1 && job.outer.sizes[0] >= kFewColumns && job.inner.strides[0][0] != 1;
}

void fold_blocks(Context& context, const Form& form, FoldJob& job) {
  if (!goes_by_columns(job)) {
    job.group = group_of(job.length);
    return launch(context, form, "fold_rows<Fold>", job, job.outputs * job.blocks * job.group);
  }
  const bool many = job.outer.sizes[0] >= kManyColumns;
  const std::int64_t columns = job.outer.sizes[0];
  const std::int64_t tiles = ceil_divide(columns, many ? kManyColumns : kFewColumns);
  launch(context, form, many ? "fold_columns<Fold, 32>" : "fold_columns<Fold, 8>", job,
         job.outputs / columns * job.blocks * tiles * kThreadsOfBlock);
}

// Each launch leaves a 1024th of what blocks gave.
void fold_parts(Context& context, const Form& form, FoldJob& job, Tensor parts) {
  while (job.blocks > 1) {
    const bool few = job.blocks <= kReductionLanes;
    const std::int64_t each = few ? 1 : kPartsOfLane;
    job.group = group_of(ceil_divide(static_cast<std::int64_t>(job.blocks), each));
    const std::int64_t left = ceil_divide(static_cast<std::int64_t>(job.blocks), each * job.group);
    Tensor fewer;
    if (left > 1) fewer = scratch(job.outputs * left * form.accumulator_bytes, context.device());
    job.parts = parts.raw_writable();
    job.fewer = left > 1 ? fewer.raw_writable() : nullptr;
    launch(context, form, few ? "fold_parts<Fold, 1>" : "fold_parts<Fold, 32>", job,
           job.outputs * left * job.group);
    job.blocks = left;
    parts = fewer;
  }
}

// Into contiguous results, of which either may be absent.
void fold(const Form& form, const Tensor& x, const IntDims& reduced, const Tensor& result,
          const Tensor& places) {
  const std::int64_t outputs = (result ? result : places).numel().fixed();
  if (outputs == 0) return;
  const Walk walk = walk_of(x, reduced);
  if (!walk.fits()) {
    IntDims last(reduced.size());
    std::iota(last.begin(), last.end(), x.rank() - static_cast<std::int64_t>(reduced.size()));
    return fold(form, laid_out(x, reduced), last, result, places);
  }
  FoldJob job{.outputs = outputs,
              .length = ops::reduced_count(x.sizes(), Dims(reduced)).fixed(),
              .blocks = 1,
              .group = 1,
              .outer = walk.outer.argument<2>(),
              .inner = walk.inner.argument<1>(),
              .input = x.raw(),
              .result = result ? result.raw_writable() : nullptr,
              .places = places ? places.raw_writable() : nullptr,
              .parts = nullptr,
              .fewer = nullptr};
  job.blocks = std::max<std::int64_t>(1, reduction_blocks(job.length));
  Context& context = Context::of(x.device());
  Tensor parts;
  if (job.blocks > 1) {
    parts = scratch(outputs * job.blocks * form.accumulator_bytes, x.device());
    job.parts = parts.raw_writable();
  }
  fold_blocks(context, form, job);
  fold_parts(context, form, job, parts);
}

// ---- Rows ----

void combined(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const DType middle = combined_dtype(x.dtype(), outputs[0].dtype()), accumulator = accumulator_of(middle);
  const Form form{
      fmt::format("Total<{}, {}, {}, {}, {}>", combine_name(op.lowering.as<lowering::Reduce>()->combine),
                  element_name(accumulator), element_name(middle), element_name(x.dtype()),
                  element_name(outputs[0].dtype())),
      static_cast<std::int64_t>(size_of(accumulator))};
  fold(form, x, IntDims(ops::reduced_dims(attrs, x.rank())), outputs[0], {});
}

Form extremum_form(bool greatest, DType dtype) {
  return {fmt::format("FirstExtremum<{}, {}, {}>", greatest, element_name(accumulator_of(dtype)),
                      element_name(dtype)),
          2 * static_cast<std::int64_t>(sizeof(Count))};
}

template <bool kGreatest>
void values(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  fold(extremum_form(kGreatest, x.dtype()), x, IntDims(ops::reduced_dims(attrs, x.rank())), outputs[0],
       outputs[1]);
}

template <bool kGreatest>
void indices(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  fold(extremum_form(kGreatest, x.dtype()), x, IntDims(ops::reduced_dims(attrs, x.rank())), {}, outputs[0]);
}

}  // namespace

void add_fold_kernels(Kernels& kernels) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->lowering.as<lowering::Reduce>() != nullptr) kernels.add(*op, {.run = combined});
  }
  kernels.add("max.dim", values<true>);
  kernels.add("min.dim", values<false>);
  kernels.add("argmax", indices<true>);
  kernels.add("argmin", indices<false>);
}

}  // namespace kiln::cuda
