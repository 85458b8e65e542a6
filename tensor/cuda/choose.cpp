// The kernel of multinomial on cards: the CPU's choices, by the same words and the same sums.
#include <bit>
#include <string>
#include <string_view>

#include "tensor/cpu/random/choose.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/choose_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/host_view.h"
#include "tensor/random.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kChooseText = R"(#include "tensor/cuda/kernels/choose.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) choose_totals(const ChooseJob job) { total_weights(job); }
extern "C" __global__ void __launch_bounds__(kThreads) choose(const ChooseJob job) { choose_from_totals(job); }
extern "C" __global__ void __launch_bounds__(kThreads) choose_once(const ChooseJob job) { choose_and_take_out(job); }
)";

void launch(Context& context, const char* name, const ChooseJob& job, std::int64_t threads) {
  run(context, {.function = function_of(context, std::string(kChooseText), name), .threads = threads}, job);
}

// What the CPU says of these weights, which is the same whatever was drawn.
OpError refused_weights(const Tensor& weights, const Dims& sizes, bool replacement) {
  try {
    cpu::draw_by_weight(Tensor::empty(sizes, DType::I64, Device{}), copied_to_host(weights), replacement,
                        Generator{});
  } catch (const OpError& error) {
    return error;
  }
  return {ErrorKind::Value, "multinomial: weights are not negative, finite, and not all 0", {0}};
}

void choose_with_replacement(Context& context, ChooseJob job) {
  const Tensor totals = scratch(job.rows * job.classes * 8, context.device());
  const Tensor last = scratch(job.rows * 8, context.device());
  job.totals = reinterpret_cast<double*>(totals.raw_writable());
  job.last = reinterpret_cast<Count*>(last.raw_writable());
  launch(context, "choose_totals", job, job.rows * kThreadsOfBlock);
  launch(context, "choose", job, job.rows * job.samples);
}

void choose_without_replacement(Context& context, ChooseJob job) {
  job.leaves = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(job.classes)));
  const Tensor sums = scratch(job.rows * 2 * job.leaves * 8, context.device());
  job.sums = reinterpret_cast<double*>(sums.raw_writable());
  launch(context, "choose_once", job, job.rows * kThreadsOfBlock);
}

void multinomial(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const bool replacement = attrs.get<bool>("replacement");
  // A copy of its own: what is written to the operand later does not change what is told of wrong weights.
  const Tensor weights = Tensor::empty(inputs[0].sizes(), DType::F64, result.device());
  copy_elements(weights, inputs[0]);
  const Generator draw = next_draw();
  if (result.numel() == 0) return;
  if (weights.numel() == 0) throw refused_weights(weights, result.sizes(), replacement);
  Context& context = Context::of(result.device());
  const FaultTicket ticket =
      expect_fault(context, [weights, sizes = Dims(result.sizes()), replacement](std::int64_t) {
        return refused_weights(weights, sizes, replacement);
      });
  ChooseJob job{};
  job.draw.seed = draw.seed;
  job.draw.offset = draw.offset;
  job.draw.fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word));
  job.draw.launch = ticket.launch;
  job.samples = result.size(result.rank() - 1).fixed();
  job.classes = weights.size(weights.rank() - 1).fixed();
  job.rows = result.numel().fixed() / job.samples;
  job.weights = reinterpret_cast<const double*>(weights.raw());
  job.result = reinterpret_cast<Count*>(result.raw_writable());
  replacement ? choose_with_replacement(context, job) : choose_without_replacement(context, job);
}

}  // namespace

void add_choice_kernels(Kernels& kernels) { kernels.add("multinomial", multinomial); }

}  // namespace kiln::cuda
