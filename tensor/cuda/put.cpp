#include "tensor/cuda/put.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels/scatter_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/sort.h"
#include "tensor/cuda/words.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kPutText = R"(#include "tensor/cuda/kernels/scatters.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(256) {0}(const ScatterJob job) {{ {1}(job); }}
)";

const char* name_of(Put put) {
  switch (put) {
    case Put::Add:
      return "Add";
    case Put::Multiply:
      return "Multiply";
    case Put::Max:
      return "Max";
    case Put::Min:
      return "Min";
    case Put::Write:
      break;
  }
  return "Write";
}

// What a profiler shows, and what is called.
struct Form {
  std::string name, body;
};
Form form_of(Put put, std::int64_t word, DType dtype) {
  if (put == Put::Write)
    return {fmt::format("scatter_{}_bytes", word), fmt::format("write_last<{}>", word_name(word))};
  return {fmt::format("scatter_{}_{}", name_of(put), name(dtype)),
          fmt::format("combine_runs<{}, Put::{}>", element_name(dtype), name_of(put))};
}

// What targets count: a step that all places are whole ones of, so that targets are small numbers.
std::int64_t unit_of(const IndexedPlaces& places) {
  std::int64_t unit = 0;
  for (const std::int64_t each : places.strides) unit = std::gcd(unit, each);
  for (const IndexOperand& each : places.indices) unit = std::gcd(unit, each.step);
  return std::max<std::int64_t>(unit, 1);
}

}  // namespace

std::optional<std::int64_t> one_step(const IntDims& sizes, const IntDims& strides) {
  const WalkAxes walk(sizes, {&strides, 1});
  if (walk.sizes.size() > 1) return {};
  return walk.strides[0][0];
}

std::int64_t Columns::take(int dim) {
  const auto remove = [dim](IntDims& from) {
    const auto at = from.begin() + dim;
    const std::int64_t taken = *at;
    from.erase(at);
    return taken;
  };
  remove(sizes);
  remove(result_strides);
  return remove(source_strides);
}

// ---- Targets ---------------------------------------------------------------------------------------------

Targets::Targets(const Tensor& result, IndexedPlaces places)
    : result_(result), sizes_(places.sizes), unit_(unit_of(places)) {
  const auto [first, end] = extent(result.layout());
  below_ = std::max<std::int64_t>((end - first - 1).fixed(), 0) / unit_ + 1;
  const auto is_checked = [](const IndexOperand& each) { return each.is_checked; };
  if (std::any_of(places.indices.begin(), places.indices.end(), is_checked))
    refused_ = unset_word(result.device());
  are_distinct_ = places.indices.size() == 1 && !places.indices[0].is_checked;
  for (std::int64_t& each : places.strides) each /= unit_;
  for (IndexOperand& each : places.indices) each.step /= unit_;
  targets_ = targets_of(std::move(places), result.device(), refused_);
}

void Targets::put(const Tensor& source, Put put) const {
  if (targets_.numel() == 0) return;
  const std::optional<std::int64_t> step = one_step(sizes_, IntDims(source.strides()));
  const Tensor values = step ? source : laid_out(source);
  this->put(values, Columns{{}, {}, {}, step.value_or(1)}, put);
}

void Targets::put(const Tensor& source, const Columns& columns, Put put) const {
  ScatterJob job{};
  job.count = targets_.numel().fixed();
  if (job.count * count_elements(columns.sizes) == 0) return;
  if (!are_distinct_ && job.count > 1) {
    if (!order_) order_ = stable_order(targets_, false, below_);
    job.order = order_.data<Count>();
  }
  std::byte* const to = result_.raw_writable();
  const std::byte* const from = source.raw();
  const auto item = static_cast<std::int64_t>(size_of(result_.dtype()));
  const IntDims strides[] = {columns.result_strides, columns.source_strides};
  WalkPart whole{WalkAxes(columns.sizes, strides)};
  std::int64_t steps[] = {columns.step, unit_}, word = item;
  if (put == Put::Write)
    word = count_by_words(whole.walk, 2, item, steps,
                          reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from));
  job.step = steps[0];
  job.target_bytes = unit_ * item;
  job.targets = targets_.data<Count>();
  if (refused_) job.unless = reinterpret_cast<const unsigned*>(refused_.raw());
  Context& context = Context::of(result_.device());
  const Form form = form_of(put, word, result_.dtype());
  each_launch(whole, [&](const WalkPart& part) {
    job.columns = part.count();
    job.axes = part.walk.argument<2>();
    job.result = to + part.first[0] * word;
    job.source = from + part.first[1] * word;
    const FunctionHandle function =
        function_of(context, fmt::format(kPutText, form.name, form.body), form.name);
    run(context, {.function = function, .threads = job.count * job.columns}, job);
  });
}

}  // namespace kiln::cuda
