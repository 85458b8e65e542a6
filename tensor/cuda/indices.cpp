#include "tensor/cuda/indices.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels/index_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/words.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kIndicesText = R"(#include "tensor/cuda/kernels/indices.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__({threads}) {name}(const {job} job) {{ {body}(job); }}
)";

std::int64_t item_of(const Tensor& x) { return static_cast<std::int64_t>(size_of(x.dtype())); }

// ---- Loops -----------------------------------------------------------------------------------------------

// Of the tensor, then of each index.
WalkPart loop_of(const IndexedPlaces& places) {
  std::vector<IntDims> strides{places.strides};
  for (const IndexOperand& each : places.indices) strides.push_back(strides_of(each, places.sizes.size()));
  return WalkPart(WalkAxes(places.sizes, strides));
}

// ---- Indices out of range --------------------------------------------------------------------------------

OpError refused_index(const IndexOperand& index, std::int64_t value) {
  try {
    rules::index_out_of_bounds(value, index.dim, index.size, {index.operand});
  } catch (const OpError& error) {
    return error;
  }
}

// A loop without elements launches nothing, but its indices count.
void check_by_host(const IndexedPlaces& places) {
  if (const std::optional<OpError> error = out_of_range(places)) throw OpError(*error);
}

std::vector<IndexOperand> all_kept(std::vector<IndexOperand> indices) {
  for (IndexOperand& each : indices) each.values = kept(each.values);
  return indices;
}

FaultTicket ticket_for(Context& context, const WalkPart& loop, const std::vector<IndexOperand>& indices) {
  return expect_fault(context, [loop, indices = all_kept(indices)](std::int64_t detail) {
    const auto k = static_cast<std::size_t>(detail >> kRefusedElementBits);
    const std::int64_t element = detail & ((std::int64_t{1} << kRefusedElementBits) - 1);
    const Tensor one = element_on_host(indices[k].values, loop.place(k + 1, element));
    return refused_index(indices[k], *HostView(one, DType::I64).as<std::int64_t>());
  });
}

// ---- Launches --------------------------------------------------------------------------------------------

template <int kIndices>
PlacesJob<kIndices> places_job(Context& context, const WalkPart& loop,
                               const std::vector<IndexOperand>& indices, const Tensor& refused) {
  PlacesJob<kIndices> job{};
  job.count = loop.count();
  job.axes = loop.walk.argument<kIndices + 1>();
  for (std::size_t k = 0; k < kIndices; ++k) {
    const IndexOperand& index = indices[k];
    job.indices[k] = {index.values.raw() + loop.first[k + 1] * item_of(index.values), index.least(),
                      index.size, index.step};
  }
  if (refused) job.refused = reinterpret_cast<unsigned*>(refused.raw_writable());
  if (std::none_of(indices.begin(), indices.end(), [](const auto& each) { return each.is_checked; }))
    return job;
  const FaultTicket ticket = ticket_for(context, loop, indices);
  job.fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word));
  job.launch = ticket.launch;
  return job;
}

// Calls f with the number of indices as a constant.
template <class F>
void with_number(std::size_t indices, const F& f) {
  static_assert(kMostIndices == 4);
  switch (indices) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

template <class Job>
void launch_body(Context& context, const std::string& name, const std::string& type, const std::string& body,
                 const Job& job) {
  const std::string text = fmt::format(kIndicesText, fmt::arg("threads", kThreadsOfBlock),
                                       fmt::arg("name", name), fmt::arg("job", type), fmt::arg("body", body));
  run(context, {.function = function_of(context, text, name), .threads = job.places.count}, job);
}

// One dtype for all indices of a launch, which kernels know.
void convert_indices(std::vector<IndexOperand>& indices) {
  const bool are_narrow = std::all_of(indices.begin(), indices.end(),
                                      [](const auto& each) { return each.values.dtype() == DType::I32; });
  if (are_narrow) return;
  for (IndexOperand& each : indices) each.values = ops::to(each.values, DType::I64);
}

// The first indices as one, which holds what they add to a place.
void join_indices(IndexedPlaces& places, const Tensor& refused) {
  const auto last = places.indices.begin() + kMostIndices;
  IndexedPlaces first{places.sizes, IntDims(places.sizes.size(), 0), {places.indices.begin(), last}};
  for (std::size_t d = 0; d < first.sizes.size(); ++d) {
    if (std::all_of(first.indices.begin(), first.indices.end(),
                    [&](const IndexOperand& each) { return strides_of(each, first.sizes.size())[d] == 0; }))
      first.sizes[d] = 1;
  }
  const Tensor targets = targets_of(first, first.indices[0].values.device(), refused);
  places.indices.erase(places.indices.begin(), last);
  places.indices.insert(
      places.indices.begin(),
      {.values = Tensor::alias(targets, {Dims(first.sizes), contiguous_strides(first.sizes)}),
       .size = std::numeric_limits<std::int64_t>::max(),
       .is_checked = false});
}

void prepare(IndexedPlaces& places, const Tensor& refused) {
  while (places.indices.size() > static_cast<std::size_t>(kMostIndices)) join_indices(places, refused);
  convert_indices(places.indices);
}

}  // namespace

Tensor kept(const Tensor& index) {
  return Tensor::from_storage(Storage::create(index.storage()->buffer()), index.layout(), index.dtype());
}

IntDims strides_of(const IndexOperand& index, std::size_t rank) {
  IntDims strides(rank, 0);
  for (int d = 0; d < index.values.rank(); ++d) {
    if (index.values.size(d).fixed() != 1)
      strides[static_cast<std::size_t>(index.first + d)] =
          index.values.strides()[static_cast<std::size_t>(d)].fixed();
  }
  return strides;
}

std::optional<OpError> out_of_range(const IndexedPlaces& places) {
  for (const IndexOperand& each : places.indices) {
    if (!each.is_checked || each.values.numel() == 0) continue;
    const HostView view(each.values, DType::I64);
    const auto* const values = view.as<std::int64_t>();
    for (std::int64_t i = 0; i < each.values.numel(); ++i)
      if (values[i] < each.least() || values[i] >= each.size) return refused_index(each, values[i]);
  }
  return std::nullopt;
}

IndexOperand index_along(const Tensor& x, int dim, const Tensor& values, int first, int operand) {
  IndexOperand index{.values = values, .first = first, .size = 1, .dim = dim, .operand = operand};
  if (x.rank() == 0) return index;
  index.size = x.size(dim).fixed();
  index.step = x.strides()[static_cast<std::size_t>(dim)].fixed();
  return index;
}

IntDims strides_but(const Tensor& x, int dim, int rank) {
  IntDims strides(x.strides());
  strides.resize(static_cast<std::size_t>(rank), 0);
  if (rank > 0) strides[static_cast<std::size_t>(dim)] = 0;
  return strides;
}

void take(const Tensor& result, const Tensor& x, IndexedPlaces places) {
  if (count_elements(places.sizes) == 0) return check_by_host(places);
  if (places.indices.empty()) {
    const Layout from{Dims(places.sizes), Dims(places.strides), x.offset()};
    return copy_elements(result, Tensor::alias(x, from));
  }
  prepare(places, {});
  Context& context = Context::of(x.device());
  std::byte* const to = result.raw_writable();
  const std::byte* const from = x.raw();
  WalkPart whole = loop_of(places);
  std::vector<std::int64_t> steps;
  for (const IndexOperand& each : places.indices) steps.push_back(each.step);
  const std::int64_t word =
      count_by_words(whole.walk, 1, item_of(x), steps,
                     reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from));
  for (std::size_t k = 0; k < steps.size(); ++k) places.indices[k].step = steps[k];
  const char* const index = element_name(places.indices[0].values.dtype());
  each_launch(whole, [&](const WalkPart& loop) {
    with_number(places.indices.size(), [&]<int kIndices>() {
      const GatherJob<kIndices> job{places_job<kIndices>(context, loop, places.indices, {}),
                                    from + loop.first[0] * word, to + loop.done * word};
      launch_body(context, fmt::format("gather_{}_bytes", word), fmt::format("GatherJob<{}>", kIndices),
                  fmt::format("gather<{}, {}, {}>", word_name(word), index, kIndices), job);
    });
  });
}

Tensor targets_of(IndexedPlaces places, Device device, const Tensor& refused) {
  const std::int64_t count = count_elements(places.sizes);
  const Tensor targets = Tensor::empty(Dims{count}, DType::I64, device);
  if (count == 0) check_by_host(places);
  if (places.indices.empty()) fill_elements(targets, Tensor::number(false));
  if (count == 0 || places.indices.empty()) return targets;
  prepare(places, refused);
  Context& context = Context::of(targets.device());
  auto* const to = targets.writable<Count>();
  const char* const index = element_name(places.indices[0].values.dtype());
  each_launch(loop_of(places), [&](const WalkPart& loop) {
    with_number(places.indices.size(), [&]<int kIndices>() {
      TargetsJob<kIndices> job{places_job<kIndices>(context, loop, places.indices, refused), loop.first[0],
                               to + loop.done};
      launch_body(context, "targets_of_indices", fmt::format("TargetsJob<{}>", kIndices),
                  fmt::format("find_targets<{}, {}>", index, kIndices), job);
    });
  });
  return targets;
}

}  // namespace kiln::cuda
