// Kernels of the pools on cards and of their adjoints.
#include <algorithm>

#include <fmt/format.h>

#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/pool_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/fixed_order.h"
#include "tensor/host_view.h"
#include "tensor/integers.h"
#include "tensor/ops/pooling.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kPoolText = R"(#include "tensor/cuda/kernels/pools.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(256) pool(const PoolJob job) {{ {}(job); }}
)";

constexpr std::string_view kPlacesText = R"(#include "tensor/cuda/kernels/pools.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(256) add_places(const PlacesJob job) {{ add_at_places<{}, {}, {}>(job); }}
)";

PoolJob pool_job(const Dims& planes, const Attrs& attrs) {
  PoolJob job{};
  job.rows = ops::window_axis(planes, 0, attrs);
  job.columns = ops::window_axis(planes, 1, attrs);
  return job;
}

// From an operand in order to a contiguous result, of as many planes as both have; a thread for each element
// of the result.
void pool(const std::string& body, PoolJob job, const Tensor& x, const Tensor& result) {
  const std::int64_t threads = result.numel();
  if (threads == 0) return;
  job.planes = threads / (result.size(result.rank() - 2) * result.size(result.rank() - 1)).fixed();
  job.input = x.raw();
  job.result = result.raw_writable();
  Context& context = Context::of(result.device());
  run(context, {.function = function_of(context, fmt::format(kPoolText, body), "pool"), .threads = threads},
      job);
}

std::string body_of(std::string_view name, DType dtype) {
  return fmt::format("{}<{}, {}>", name, element_name(dtype), element_name(ops::compute_dtype(dtype)));
}

void average(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  PoolJob job = pool_job(ops::plane_sizes(in[0].type(), attrs), attrs);
  job.divisor = ops::average_divisor(attrs);
  pool(body_of("average_windows", outputs[0].dtype()), job, in_order(in[0]), outputs[0]);
}

void spread(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  PoolJob job = pool_job(attrs.get<Dims>("sizes"), attrs);
  job.divisor = ops::average_divisor(attrs);
  pool(body_of("spread_windows", outputs[0].dtype()), job, in_order(in[0]), outputs[0]);
}

void greatest(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  PoolJob job = pool_job(ops::plane_sizes(in[0].type(), attrs), attrs);
  job.places = outputs[1].raw_writable();
  pool(fmt::format("max_windows<{}>", element_name(in[0].dtype())), job, in_order(in[0]), outputs[0]);
}

// ---- The adjoint of maxima ----

std::int64_t plane_of(const Tensor& x) { return (x.size(x.rank() - 1) * x.size(x.rank() - 2)).fixed(); }

// What is told of an index that is beyond its plane. It may have been written over since.
OpError refused_place(const Tensor& indices, std::int64_t at, std::int64_t places) {
  const Tensor one = element_on_host(indices, at);
  const std::int64_t index = *HostView(one, DType::I64).as<std::int64_t>();
  try {
    if (index < 0 || index >= places) rules::index_out_of_bounds(index, indices.rank() - 1, places, {1});
  } catch (const OpError& error) {
    return error;
  }
  return {ErrorKind::Index, "max_pool2d_backward: an index was beyond its plane", {1}};
}

// A warp goes through all indices of a plane, so that a plane is shared by several where there are few.
std::int64_t parts_of(const Context& context, std::int64_t planes, std::int64_t places) {
  constexpr std::int64_t kWarpsOfMultiprocessor = 16, kMost = 64, kLeastPlaces = 256;
  const std::int64_t wanted = ceil_divide(context.multiprocessors() * kWarpsOfMultiprocessor, planes);
  return std::max<std::int64_t>(1, std::min({wanted, kMost, places / kLeastPlaces}));
}

void add_at_places(const Op&, const Attrs&, Inputs in, Outputs outputs, Stream&) {
  const Tensor y = in_order(in[0]), indices = in_order(in[1]);
  const Tensor& result = outputs[0];
  const std::int64_t places = plane_of(result);
  if (result.numel() == 0) {
    if (indices.numel() > 0) throw refused_place(indices, 0, places);
    return;
  }
  const DType wide = ops::compute_dtype(result.dtype());
  const Tensor sums = wide == result.dtype() ? result : Tensor::empty(result.sizes(), wide, result.device());
  Context& context = Context::of(result.device());
  const FaultTicket ticket = expect_fault(
      context, [indices, places](std::int64_t at) { return refused_place(indices, at, places); });
  const std::int64_t planes = result.numel().fixed() / places;
  PlacesJob job{.planes = planes,
                .places = places,
                .count = plane_of(y),
                .parts = parts_of(context, planes, places),
                .input = y.raw(),
                .indices = indices.raw(),
                .sums = sums.raw_writable(),
                .result = result.raw_writable(),
                .fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word)),
                .launch = ticket.launch};
  const std::string text =
      fmt::format(kPlacesText, element_name(y.dtype()), element_name(wide), element_name(indices.dtype()));
  run(context,
      {.function = function_of(context, text, "add_places"), .threads = planes * job.parts * kReductionLanes},
      job);
}

}  // namespace

void add_pooling_kernels(Kernels& kernels) {
  for (const char* const name : {"avg_pool2d", "adaptive_avg_pool2d"}) kernels.add(name, average);
  for (const char* const name : {"avg_pool2d_backward", "adaptive_avg_pool2d_backward"})
    kernels.add(name, spread);
  for (const char* const name : {"max_pool2d_with_indices", "adaptive_max_pool2d_with_indices"})
    kernels.add(name, greatest);
  kernels.add("max_pool2d_backward", add_at_places);
}

}  // namespace kiln::cuda
