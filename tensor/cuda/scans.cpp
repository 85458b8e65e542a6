// Kernels of running combinations on cards: sums and products in their fixed order, extrema with their
// places.
#include <algorithm>

#include <fmt/format.h>

#include "tensor/compute.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/scan_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/fixed_order.h"
#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kScansText = R"(#include "tensor/cuda/kernels/scans.cuh"

using namespace kiln;
using namespace kiln::cuda;
using Scan = {};

extern "C" __global__ void __launch_bounds__(kThreads) scan(const ScanJob job) {{ {}(job); }}
)";

// What is combined, as the text of kernels says it, and the bytes of an accumulator.
struct Form {
  std::string type;
  std::int64_t accumulator_bytes;
  bool by_runs = true;  // else one element after the other
};

// Contiguous operands.
void scan(const Form& form, const Tensor& x, int dim, const Tensor& result, const Tensor& places) {
  if (x.numel() == 0) return;
  ScanJob job{.outer = 1,
              .length = 1,
              .inner = 1,
              .run = kScanRun,
              .runs = 1,
              .blocks = 1,
              .input = x.raw(),
              .result = result.raw_writable(),
              .places = places ? places.raw_writable() : nullptr,
              .within = nullptr,
              .before = nullptr};
  for (int d = 0; d < x.rank(); ++d)
    (d < dim ? job.outer : d == dim ? job.length : job.inner) *= x.size(d).fixed();
  if (form.by_runs) {
    job.runs = ceil_divide(job.length, job.run);
    job.blocks = reduction_blocks(job.length);
  } else {
    job.run = job.length;
  }
  Context& context = Context::of(x.device());
  const auto launch = [&](const char* walk, std::int64_t threads) {
    run(context,
        {.function = function_of(context, fmt::format(kScansText, form.type, walk), "scan"),
         .threads = threads},
        job);
  };
  const Count sequences = job.outer * job.inner;
  const bool along_memory = job.inner == 1;
  Tensor within, before;
  if (job.runs > 1) {
    within = scratch(sequences * job.runs * form.accumulator_bytes, x.device());
    job.within = within.raw_writable();
    if (job.blocks > 1) {
      before = scratch(sequences * job.blocks * form.accumulator_bytes, x.device());
      job.before = before.raw_writable();
    }
    launch(along_memory ? "scan_rows<Scan, false>" : "scan_columns<Scan, false>", sequences * job.runs);
    launch("scan_within_blocks<Scan>", sequences * job.blocks);
    if (job.blocks > 1) launch("scan_blocks<Scan>", sequences);
  }
  launch(along_memory ? "scan_rows<Scan, true>" : "scan_columns<Scan, true>", sequences * job.runs);
}

int dim_of(const Attrs& attrs, const Tensor& x) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), x.rank(), attrs.op()->name());
}

// Floats below f64 are carried in f64. Products of runs may be out of range where those of all elements are
// not, so that they go through all in turn.
template <cpu::Combine kCombine>
void running_total(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const DType dtype = outputs[0].dtype(), carried = is_float(dtype) ? DType::F64 : DType::I64;
  const Form form{fmt::format("RunningTotal<{}, {}, {}, {}>", combine_name(kCombine), element_name(carried),
                              element_name(dtype), element_name(x.dtype())),
                  static_cast<std::int64_t>(size_of(carried)), kCombine == cpu::Combine::Sum};
  scan(form, in_order(x), dim_of(attrs, x), outputs[0], {});
}

template <bool kGreatest>
void running_extremum(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const Form form{fmt::format("RunningExtremum<{}, {}, {}>", kGreatest,
                              element_name(accumulator_of(x.dtype())), element_name(x.dtype())),
                  2 * static_cast<std::int64_t>(sizeof(Count))};
  scan(form, in_order(x), dim_of(attrs, x), outputs[0], outputs[1]);
}

}  // namespace

void add_scan_kernels(Kernels& kernels) {
  kernels.add("cumsum", running_total<cpu::Combine::Sum>);
  kernels.add("cumprod", running_total<cpu::Combine::Prod>);
  kernels.add("cummax", running_extremum<true>);
  kernels.add("cummin", running_extremum<false>);
}

}  // namespace kiln::cuda
