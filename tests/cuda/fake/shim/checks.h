// Owns telling the driver of each access to memory of a checked kernel. The compiler calls the functions of
// its thread sanitizer before accesses, of which the shim has its own: no sanitizer is linked.
#pragma once

#include "abi.h"

#ifdef KILN_FAKE_CHECKS

#define KILN_FAKE_UNCHECKED __attribute__((no_sanitize("thread"), nodebug))

// Where a thread is (threadIdx and so on) is asked for often, and is no memory of a card.
KILN_FAKE_UNCHECKED __attribute__((always_inline)) static inline void kiln_fake_access(const void* place,
                                                                                       unsigned long bytes,
                                                                                       KilnFakeAccess kind,
                                                                                       const void* code) {
  const auto offset = static_cast<const char*>(place) - reinterpret_cast<const char*>(&kiln_fake_place);
  if (static_cast<unsigned long>(offset) < sizeof kiln_fake_place) return;
  kiln_fake_place.runtime.access(place, bytes, kind, code);
}

extern "C" {
#define KILN_FAKE_CALLBACK(name, bytes, kind)                                               \
  KILN_FAKE_UNCHECKED __attribute__((used, noinline)) void name##bytes(const void* place) { \
    kiln_fake_access(place, bytes, kind, __builtin_return_address(0));                      \
  }
#define KILN_FAKE_CALLBACKS(bytes)                            \
  KILN_FAKE_CALLBACK(__tsan_read, bytes, kFakeRead)           \
  KILN_FAKE_CALLBACK(__tsan_write, bytes, kFakeWrite)         \
  KILN_FAKE_CALLBACK(__tsan_unaligned_read, bytes, kFakeRead) \
  KILN_FAKE_CALLBACK(__tsan_unaligned_write, bytes, kFakeWrite)
KILN_FAKE_CALLBACKS(1)
KILN_FAKE_CALLBACKS(2)
KILN_FAKE_CALLBACKS(4)
KILN_FAKE_CALLBACKS(8)
KILN_FAKE_CALLBACKS(16)
#undef KILN_FAKE_CALLBACKS
#undef KILN_FAKE_CALLBACK

void* memcpy(void* to, const void* from, unsigned long bytes);
void* memmove(void* to, const void* from, unsigned long bytes);
void* memset(void* to, int value, unsigned long bytes);
KILN_FAKE_UNCHECKED __attribute__((used, noinline)) void* __tsan_memcpy(void* to, const void* from,
                                                                        unsigned long bytes) {
  kiln_fake_access(from, bytes, kFakeRead, __builtin_return_address(0));
  kiln_fake_access(to, bytes, kFakeWrite, __builtin_return_address(0));
  return memcpy(to, from, bytes);
}
KILN_FAKE_UNCHECKED __attribute__((used, noinline)) void* __tsan_memmove(void* to, const void* from,
                                                                         unsigned long bytes) {
  kiln_fake_access(from, bytes, kFakeRead, __builtin_return_address(0));
  kiln_fake_access(to, bytes, kFakeWrite, __builtin_return_address(0));
  return memmove(to, from, bytes);
}
KILN_FAKE_UNCHECKED __attribute__((used, noinline)) void* __tsan_memset(void* to, int value,
                                                                        unsigned long bytes) {
  kiln_fake_access(to, bytes, kFakeWrite, __builtin_return_address(0));
  return memset(to, value, bytes);
}
KILN_FAKE_UNCHECKED __attribute__((used)) void __tsan_init() {}
}

// Atomic accesses are told of by the shim, not by the compiler.
KILN_FAKE_UNCHECKED __attribute__((noinline)) static void kiln_fake_atomic(const void* place,
                                                                           unsigned long bytes) {
  kiln_fake_access(place, bytes, kFakeAtomic, __builtin_return_address(0));
}
KILN_FAKE_UNCHECKED __attribute__((noinline)) static void kiln_fake_fence() {
  kiln_fake_place.runtime.fence();
}
#undef KILN_FAKE_UNCHECKED

#else

static inline void kiln_fake_atomic(const void*, unsigned long) {}
static inline void kiln_fake_fence() {}

#endif
