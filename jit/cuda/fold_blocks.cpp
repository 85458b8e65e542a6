#include "jit/cuda/fold_blocks.h"

#include <string_view>

#include <fmt/format.h>

#include "jit/cuda/emit.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"

namespace kiln::jit {
namespace {

// Pairs of neighbours, an odd last one as it is, and again (docs/reductions.md), by one block of threads a
// row.
constexpr std::string_view kTreeText = R"(#include "tensor/cuda/kernels/nest.cuh"

using namespace kiln;
using namespace kiln::cuda;

template <class Combine, class T>
KILN_MATH void fold_blocks(T* parts, T* results, Count rows, Count blocks) {{
  for (Count row = blockIdx.x; row < rows; row += gridDim.x) {{
    T* const mine = parts + row * blocks;
    for (Count step = 1; step < blocks; step *= 2) {{
      for (Count i = 2 * step * threadIdx.x; i + step < blocks; i += 2 * step * blockDim.x)
        mine[i] = Combine::combine(mine[i], mine[i + step]);
      __syncthreads();
    }}
    if (threadIdx.x == 0) results[row] = mine[0];
  }}
}}

extern "C" __global__ void __launch_bounds__(256) fold_rows({1}* parts, {1}* results, Count rows, Count blocks) {{
  fold_blocks<{0}>(parts, results, rows, blocks);
}}
)";

}  // namespace

Tensor fold_blocks(cuda::Context& context, const Reduction& reduction, const Tensor& parts,
                   std::int64_t results, std::int64_t blocks) {
  if (blocks == 1 || results == 0) return parts;
  const Tensor made = Tensor::empty(Dims{results}, reduction.accumulator, context.device());
  const std::string text =
      fmt::format(kTreeText, cuda_combine(reduction.combine), cuda_element(reduction.accumulator));
  const cuda::Launch launch{.function = cuda::function_of(context, text, "fold_rows"),
                            .threads = results * 256};
  std::byte* const from = parts.raw_writable();
  std::byte* const to = made.raw_writable();
  cuda::run(context, launch, from, to, results, blocks);
  return made;
}

}  // namespace kiln::jit
