// The kernel of randperm on cards: the CPU's shuffle, by the same words.
#include <string>
#include <string_view>
#include <utility>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/shuffle_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kShuffleText = R"(#include "tensor/cuda/kernels/shuffle.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) shuffle_begin(const ShuffleJob job) { begin_shuffle(job); }
extern "C" __global__ void __launch_bounds__(kThreads) shuffle_claim(const ShuffleJob job) { claim_in_round(job); }
extern "C" __global__ void __launch_bounds__(kThreads) shuffle_swap(const ShuffleJob job) { swap_in_round(job); }
extern "C" __global__ void __launch_bounds__(kThreads) shuffle_end(const ShuffleJob job) { shuffle_rest(job); }
)";

constexpr std::int64_t kStepsOfBlock = 4096;  // so many that are left go on in one block

void launch(Context& context, const char* name, const ShuffleJob& job, std::int64_t threads) {
  run(context, {.function = function_of(context, std::string(kShuffleText), name), .threads = threads}, job);
}

std::int64_t left_after_round(std::int64_t steps) { return steps - steps / 4; }

std::int64_t rounds_of(std::int64_t steps) {
  std::int64_t rounds = 0;
  for (; steps > kStepsOfBlock; steps = left_after_round(steps)) ++rounds;
  return rounds;
}

void shuffle(const Tensor& items, const Generator& draw) {
  Context& context = Context::of(items.device());
  const std::int64_t count = items.numel();
  ShuffleJob job{};
  job.draw.seed = draw.seed;
  job.draw.offset = draw.offset;
  job.count = count;
  job.rounds = rounds_of(count);
  const auto words = [&](std::int64_t n) { return scratch(n * 8, items.device()); };
  const Tensor claims = words(count), steps = words(count), next_steps = words(count),
               left = words(job.rounds + 1);
  job.items = reinterpret_cast<Count*>(items.raw_writable());
  job.claims = reinterpret_cast<unsigned long long*>(claims.raw_writable());
  job.steps = reinterpret_cast<Count*>(steps.raw_writable());
  job.next_steps = reinterpret_cast<Count*>(next_steps.raw_writable());
  job.left = reinterpret_cast<unsigned long long*>(left.raw_writable());
  launch(context, "shuffle_begin", job, count);
  std::int64_t expected = count;
  for (job.round = 1; job.round <= job.rounds; ++job.round) {
    launch(context, "shuffle_claim", job, expected);
    launch(context, "shuffle_swap", job, expected);
    std::swap(job.steps, job.next_steps);
    expected = left_after_round(expected);
  }
  launch(context, "shuffle_end", job, kThreadsOfBlock);
}

void randperm(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const Generator draw = next_draw();
  if (result.numel() == 0) return;
  if (result.numel().fixed() >> kStepBits != 0)
    throw OpError(ErrorKind::Value, "randperm: cards shuffle fewer than 2^40 integers");
  if (result.dtype() == DType::I64) return shuffle(result, draw);
  const Tensor items = Tensor::empty(result.sizes(), DType::I64, result.device());
  shuffle(items, draw);
  copy_elements(result, items);
}

}  // namespace

void add_shuffle_kernels(Kernels& kernels) { kernels.add("randperm", randperm); }

}  // namespace kiln::cuda
