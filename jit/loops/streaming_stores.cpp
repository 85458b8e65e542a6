#include "jit/loops/streaming_stores.h"

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

void mark_streaming_stores(Lowered& kernel, const std::vector<bool>& read_later, const SymbolValues& hints) {
  const std::size_t count = kernel.row_passes().size();  // results of columns are small
  for (LoopNest& nest : std::span(kernel.passes).first(count)) {
    if (nest.row_interleaved) return;  // their vectors are turned into rows first
    const bool all_plain = std::all_of(nest.stores.begin(), nest.stores.end(),
                                       [](const Store& each) { return each.around.empty(); });
    for (Store& each : nest.stores) {
      if (!all_plain || !is_plain(each) || read_later[static_cast<std::size_t>(each.output)]) continue;
      const KernelOutput& output = kernel.outputs[static_cast<std::size_t>(each.output)];
      each.streaming = bytes_of(output.dtype, evaluate(output.sizes, hints)) >= kLeastBytes;
    }
  }
}

bool uses_streaming_stores(const Lowered& kernel, Inputs results) {
  std::int64_t bytes = 0;
  for (const LoopNest& nest : kernel.passes) {
    for (const Store& each : nest.stores) {
      if (!each.streaming) continue;
      const Tensor& result = results[static_cast<std::size_t>(each.output)];
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
