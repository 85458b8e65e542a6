// Owns what threads do together and with memory that they share, for the C++ that translate.py makes of PTX:
// as a library that the fake driver runs. Source: NVIDIA's "Parallel Thread Execution ISA".
#pragma once

#include "tests/cuda/fake/shim/abi.h"

[[maybe_unused]] static KilnFakePlace kiln_fake_place;

#include "tests/cuda/fake/shim/atomics.h"
#include "tests/cuda/fake/shim/warp.h"
#include "tests/cuda/ptx/copies.h"
#include "tests/cuda/ptx/matrices.h"
#include "tests/cuda/ptx/runtime.h"

extern "C" {
extern char __start_kiln_fake_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_kiln_fake_shared[] __attribute__((weak, visibility("hidden")));
alignas(1024) __attribute__((visibility("hidden"))) char kiln_fake_dynamic[240 * 1024];
}

// The threads of a kernel, one after the other, until all have run.
template <void (*kThread)(void* const*)>
void run_threads(void* const* parameters) {
  do kThread(parameters);
  while (kiln_fake_place.runtime.next_thread());
}

// ---- Shared memory ----

// Its addresses have 32 bits: they are distances from the memory whose size a launch gives.
inline u64 shared_address(u64 address) { return address - reinterpret_cast<u64>(kiln_fake_dynamic); }
inline u64 address_of_shared(u64 shared) {
  return reinterpret_cast<u64>(kiln_fake_dynamic) +
         static_cast<u64>(static_cast<s64>(static_cast<s32>(shared)));
}
struct SharedVariable {
  void* memory;
  explicit operator u64() const { return shared_address(reinterpret_cast<u64>(memory)); }
};

// ---- Atomic operations ----

template <class T, class F>
T updated(u64 address, const F& f) {
  require_aligned(address, sizeof(T));
  return kiln_fake_update(reinterpret_cast<T*>(address), f);
}
inline void order_memory() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- Threads of a block ----

inline int at_barrier(int line, KilnFakeFold fold, bool value) {
  return kiln_fake_place.runtime.block_barrier(line, fold, value);
}
inline void trap(int line) { kiln_fake_place.runtime.stop(line, nullptr); }
// As NVRTC calls it: message, file, line, function, size of a character.
inline void __assertfail(u8* message, u8*, u8* line, u8*, u8*) {
  kiln_fake_place.runtime.stop(load<s32>(reinterpret_cast<u64>(line)),
                               load<const char*>(reinterpret_cast<u64>(message)));
}

// ---- Lanes of a warp ----

// What another lane has, and whether that one is within the part of the warp: else it is the own value.
inline u32 shuffled(char mode, u32 value, u32 by, u32 parts, u32 mask, bool& is_within, int line) {
  const auto own = static_cast<s32>(kiln_fake_lane()), distance = static_cast<s32>(by & 31U);
  const auto clamp = static_cast<s32>(parts & 31U), part = static_cast<s32>(parts >> 8 & 31U);
  const s32 first = own & part, last = first | (clamp & ~part);
  const s32 from = mode == 'u'   ? own - distance
                   : mode == 'd' ? own + distance
                   : mode == 'b' ? own ^ distance
                                 : first | (distance & ~part);
  is_within = mode == 'u' ? from >= last : from <= last;
  return kiln_fake_together(kFakeShuffle, mask, value, static_cast<unsigned>(is_within ? from : own), line);
}
inline u32 ballot(u32 mask, bool value, int line) {
  return kiln_fake_together(kFakeBallot, mask, value ? 1U : 0U, 0, line);
}
inline u32 matched(KilnFakeTogether kind, u32 mask, u64 value, int line) {
  return static_cast<u32>(kiln_fake_together(kind, mask, value, 0, line));
}
// Signed values keep their order where they are widened with their sign.
template <class T>
T reduced(KilnFakeTogether kind, u32 mask, T value, int line) {
  return static_cast<T>(kiln_fake_together(kind, mask, static_cast<s64>(value), 0, line));
}
