// Owns requests for memory ahead of its use.
#pragma once

#include <cstdint>

namespace kiln::cpu {

// Asks for the line at `place`, which need not be memory of ours. GCC takes a function that does nothing else
// for one without effect and drops its calls: to the empty instruction it ascribes one.
[[gnu::always_inline]] inline void prefetch(const void* place) {
  __builtin_prefetch(place);
  asm volatile("");
}
// Likewise for the lines of so many elements.
template <class T>
[[gnu::always_inline]] inline void prefetch_run(const T* from, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; i += kLine) prefetch(from + i);
}
// Likewise, to write there.
[[gnu::always_inline]] inline void prefetch_to_write(const void* place) {
  __builtin_prefetch(place, 1);
  asm volatile("");
}

}  // namespace kiln::cpu
