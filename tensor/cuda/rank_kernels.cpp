#include "tensor/cuda/rank_kernels.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/program.h"
#include "tensor/integers.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kHead = R"(#include "tensor/cuda/kernels/ranks.cuh"

using namespace kiln;
using namespace kiln::cuda;
)";

constexpr std::array<std::string_view, 4> kOperations{"Add", "Multiply", "Smaller", "Larger"};
constexpr std::array<std::string_view, 4> kWords{"unsigned char", "unsigned short", "unsigned",
                                                 "unsigned long long"};

std::string kernel_text(const std::string& name, std::string_view job, const std::string& call) {
  return fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}) {}(const {} job) {{ {}(job); }}\n",
                     kThreadsOfBlock, name, job, call);
}

std::string scale_kernel(DType from, DType to) {
  return kernel_text(fmt::format("scale_{}_{}", name(from), name(to)), "RankScaleJob",
                     fmt::format("scale_for_ranks<{}, {}>", element_name(from), element_name(to)));
}

// All kernels of a dtype are one program, since a collective has use for several of them.
std::string program_of(DType dtype) {
  std::string text(kHead);
  for (const std::string_view each : kOperations)
    text += kernel_text(fmt::format("{}_{}", each, name(dtype)), "RankReduceJob",
                        fmt::format("reduce_over_ranks<{}, ranks::{}>", element_name(dtype), each));
  text += scale_kernel(dtype, dtype);
  if (dtype == DType::F16 || dtype == DType::BF16)
    text += scale_kernel(dtype, DType::F32) + scale_kernel(DType::F32, dtype);
  return text;
}

std::string fill_program() {
  std::string text(kHead);
  for (std::size_t k = 0; k < kWords.size(); ++k)
    text += kernel_text(fmt::format("fill_{}", std::size_t{1} << k), "RankFillJob",
                        fmt::format("fill_for_ranks<{}>", kWords[k]));
  return text;
}

template <class Job>
void launch(SideStream& stream, const std::string& program, const std::string& name, const Job& job) {
  if (job.count == 0) return;
  constexpr std::int64_t kBlocksOfMultiprocessor = 32;
  Context& context = stream.context();
  const std::int64_t wanted = ceil_divide(std::int64_t{job.count}, std::int64_t{kThreadsOfBlock});
  KernelWork work;
  work.function = function_of(context, program, name);
  work.blocks = static_cast<unsigned>(std::min(wanted, context.multiprocessors() * kBlocksOfMultiprocessor));
  work.add({&job, sizeof(Job)});
  stream.give(work);
}

}  // namespace

void reduce_over_ranks(SideStream& stream, DType dtype, std::string_view operation,
                       const RankReduceJob& job) {
  launch(stream, program_of(dtype), fmt::format("{}_{}", operation, name(dtype)), job);
}

void scale_for_ranks(SideStream& stream, DType from, DType to, const RankScaleJob& job) {
  launch(stream, program_of(from == DType::F32 ? to : from), fmt::format("scale_{}_{}", name(from), name(to)),
         job);
}

void fill_for_ranks(SideStream& stream, std::size_t item, const RankFillJob& job) {
  launch(stream, fill_program(), fmt::format("fill_{}", item), job);
}

}  // namespace kiln::cuda
