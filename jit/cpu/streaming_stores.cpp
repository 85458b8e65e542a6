#include "jit/cpu/streaming_stores.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "tensor/cpu/last_cache.h"

namespace kiln::jit {
namespace {

// The least that could outgrow a last cache.
constexpr std::int64_t kLeastBytes = 1 << 20;

std::int64_t bytes_of(DType dtype, const Dims& sizes) {
  return count_elements(sizes) * static_cast<std::int64_t>(size_of(dtype));
}

// Does the store write the elements of a result one after the other?
bool is_plain(const Store& store) { return store.output >= 0 && !store.per_row && store.around.empty(); }

}  // namespace

void mark_streaming_stores(ScheduledKernel& kernel, const KernelUse& use) {
  if (kernel.schedule.interleaves_rows) return;  // their vectors are turned into rows first
  const std::span<const LoopNest> passes = kernel.lowered.row_passes();  // results of columns are small
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const std::vector<Store>& stores = passes[p].stores;
    const bool all_plain =
        std::all_of(stores.begin(), stores.end(), [](const Store& each) { return each.around.empty(); });
    for (std::size_t k = 0; k < stores.size(); ++k) {
      const Store& each = stores[k];
      if (!all_plain || !is_plain(each) || use.read_later[static_cast<std::size_t>(each.output)]) continue;
      const KernelOutput& output = kernel.lowered.outputs[static_cast<std::size_t>(each.output)];
      kernel.schedule.nests[p].stores[k].streaming =
          bytes_of(output.dtype, evaluate(output.sizes, use.hints)) >= kLeastBytes;
    }
  }
}

bool uses_streaming_stores(const Lowered& kernel, const Schedule& schedule, Inputs results) {
  std::int64_t bytes = 0;
  for (std::size_t p = 0; p < kernel.passes.size(); ++p) {
    for (std::size_t k = 0; k < kernel.passes[p].stores.size(); ++k) {
      if (!schedule.nests[p].stores[k].streaming) continue;
      const Tensor& result = results[static_cast<std::size_t>(kernel.passes[p].stores[k].output)];
      bytes += bytes_of(result.dtype(), result.sizes());
    }
  }
  return bytes > 0 && bytes >= cpu::last_cache_bytes();
}

// Elsewhere such stores are in the order of others, which the pool's locks keep.
void fence_streaming_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace kiln::jit
