// Kernels that draw numbers on cards: the words of the CPU, and so its numbers.
#include <cmath>

#include <fmt/format.h>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/draws.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/integers.h"
#include "tensor/lowering.h"
#include "tensor/ops/random.h"
#include "tensor/philox.h"
#include "tensor/random.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kRandomText = R"(#include "tensor/cuda/kernels/draws.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(256) draw_all(const DrawJob job) {{ draw<{}>(job); }}
)";

std::string of_elements(const char* what, DType dtype) {
  return fmt::format("{}<{}>", what, element_name(dtype));
}

// The next draw of the process's generator into a contiguous result.
void draw_into(const Tensor& result, const std::string& what, std::int64_t per_block, DrawJob job) {
  const Generator draw = next_draw();
  job.seed = draw.seed;
  job.offset = draw.offset;
  job.count = result.numel().fixed();
  if (job.count == 0) return;
  job.result = result.raw_writable();
  Context& context = Context::of(result.device());
  run(context,
      {.function = function_of(context, fmt::format(kRandomText, what), "draw_all"),
       .threads = ceil_divide(static_cast<std::int64_t>(job.count), per_block)},
      job);
}

// Words below it make an element 1: as many of all words as the chance says.
std::uint64_t share_of_words(double chance) {
  if (chance >= 1) return std::uint64_t{1} << 32;
  return chance > 0 ? static_cast<std::uint64_t>(std::ceil(chance * 0x1p32)) : 0;
}

// Rows that lower to a draw: the distribution is the row's.
void drawn(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Distribution from = op.lowering.as<lowering::Draw>()->distribution(attrs);
  const DType dtype = outputs[0].dtype();
  draw_into(outputs[0], draw_type(from.kind, dtype), made_at_once(from.kind, dtype), job_of(from));
}

template <bool kHasLow>
void randint(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  DrawJob job{};
  job.low = kHasLow ? attrs.get<std::int64_t>("low") : 0;
  job.range =
      static_cast<std::uint64_t>(attrs.get<std::int64_t>("high")) - static_cast<std::uint64_t>(job.low);
  draw_into(outputs[0], of_elements("Integers", outputs[0].dtype()), kWidePerBlock, job);
}

void skip_draws(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const auto count = attrs.get<std::int64_t>("count");
  generator().offset += static_cast<std::uint64_t>(count);
  fill_elements(outputs[0], Tensor::number(count));
}

// The error of the first element that is no probability. The tensor may have been written over since the
// launch: then the error does not name the element's value.
OpError refused_chance(const Tensor& chances, std::int64_t at) {
  const Tensor chance = element_on_host(chances, at);
  try {
    check_probability(*HostView(chance, DType::F64).as<double>(), "bernoulli");
  } catch (const OpError& error) {
    return error;
  }
  return {ErrorKind::Value,
          fmt::format("bernoulli: a probability lies between 0 and 1, element {} did not", at)};
}

void bernoulli(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor chances = in_order(inputs[0]);
  DrawJob job{};
  job.chances = chances.raw();
  const FaultTicket ticket = expect_fault(Context::of(chances.device()),
                                          [chances](std::int64_t at) { return refused_chance(chances, at); });
  job.fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word));
  job.launch = ticket.launch;
  draw_into(outputs[0], of_elements("Chances", outputs[0].dtype()), kNarrowPerBlock, job);
}

}  // namespace

DrawJob job_of(const Distribution& from) {
  DrawJob job{};
  job.a = from.a;
  job.b = from.b;
  if (from.kind == Distribution::Kind::Bernoulli) job.range = share_of_words(from.a);
  return job;
}

std::string draw_type(Distribution::Kind kind, DType dtype) {
  switch (kind) {
    case Distribution::Kind::Uniform:
      return of_elements("Uniform", dtype);
    case Distribution::Kind::Normal:
      return of_elements("Normal", dtype);
    case Distribution::Kind::Bernoulli:
      break;
  }
  return of_elements("Bernoulli", dtype);
}

std::int64_t made_at_once(Distribution::Kind kind, DType dtype) {
  return kind != Distribution::Kind::Bernoulli && dtype == DType::F64 ? kWidePerBlock : kNarrowPerBlock;
}

void add_random_kernels(Kernels& kernels) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->lowering.as<lowering::Draw>() != nullptr) kernels.add(*op, {.run = drawn});
  }
  kernels.add("randint", randint<false>);
  kernels.add("randint.low", randint<true>);
  kernels.add("skip_draws", skip_draws);
  kernels.add("bernoulli", bernoulli);
}

}  // namespace kiln::cuda
