// Owns what the lanes of a warp do together, for the shim of CUDA C++.
#pragma once

#include "abi.h"

template <class T>
static inline T kiln_fake_together(KilnFakeTogether kind, unsigned mask, T value, unsigned argument,
                                   int line) {
  static_assert(sizeof(T) <= sizeof(unsigned long long));
  KilnFakeLane lane{kind, mask, argument, line, 0, 0};
  __builtin_memcpy(&lane.value, &value, sizeof(T));
  kiln_fake_place.runtime.together(&lane);
  T result;
  __builtin_memcpy(&result, &lane.result, sizeof(T));
  return result;
}

static inline unsigned kiln_fake_lane() {
  const KilnFakePlace& at = kiln_fake_place;
  return (at.thread.x + at.block_dim.x * (at.thread.y + at.block_dim.y * at.thread.z)) % 32;
}

// A shuffle stays within its part of `width` lanes; beyond it a lane gets its own value.
template <class T>
static inline T kiln_fake_shuffle(unsigned mask, T value, int from, int first, int width, int line) {
  const bool is_within = from >= first && from < first + width;
  return kiln_fake_together(kFakeShuffle, mask, value, is_within ? static_cast<unsigned>(from) : 32U, line);
}
template <class T>
static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, int line = __builtin_LINE()) {
  const int first = static_cast<int>(kiln_fake_lane()) & ~(width - 1);
  return kiln_fake_shuffle(mask, value, first + (lane & (width - 1)), first, width, line);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                               int line = __builtin_LINE()) {
  const int own = static_cast<int>(kiln_fake_lane());
  return kiln_fake_shuffle(mask, value, own - static_cast<int>(by), own & ~(width - 1), width, line);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                                 int line = __builtin_LINE()) {
  const int own = static_cast<int>(kiln_fake_lane());
  return kiln_fake_shuffle(mask, value, own + static_cast<int>(by), own & ~(width - 1), width, line);
}
// Lanes of parts before the own one can be read, those of later parts cannot.
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, int line = __builtin_LINE()) {
  const int own = static_cast<int>(kiln_fake_lane());
  const int end = (own & ~(width - 1)) + width;
  return kiln_fake_shuffle(mask, value, own ^ by, 0, end, line);
}

static inline void __syncwarp(unsigned mask = 0xffffffffU, int line = __builtin_LINE()) {
  kiln_fake_together(kFakeSync, mask, 0U, 0, line);
}
static inline unsigned __ballot_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return kiln_fake_together(kFakeBallot, mask, value != 0 ? 1U : 0U, 0, line);
}
static inline int __any_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return __ballot_sync(mask, value, line) != 0 ? 1 : 0;
}
static inline int __all_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return __ballot_sync(mask, value == 0 ? 1 : 0, line) == 0 ? 1 : 0;
}
template <class T>
static inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(kiln_fake_together(kFakeMatchAny, mask, bits, 0, line));
}
template <class T>
static inline unsigned __match_all_sync(unsigned mask, T value, int* all, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  const auto equal = static_cast<unsigned>(kiln_fake_together(kFakeMatchAll, mask, bits, 0, line));
  *all = equal != 0 ? 1 : 0;
  return equal;
}

// Values travel as 64 bits: signed ones keep their order where they are widened with their sign.
#define KILN_FAKE_REDUCE(name, kind, T)                                                            \
  static inline T __reduce_##name##_sync(unsigned mask, T value, int line = __builtin_LINE()) {    \
    return static_cast<T>(kiln_fake_together(kind, mask, static_cast<long long>(value), 0, line)); \
  }
KILN_FAKE_REDUCE(add, kFakeSum, unsigned)
KILN_FAKE_REDUCE(add, kFakeSum, int)
KILN_FAKE_REDUCE(min, kFakeLeast, unsigned)
KILN_FAKE_REDUCE(min, kFakeLeast, int)
KILN_FAKE_REDUCE(max, kFakeMost, unsigned)
KILN_FAKE_REDUCE(max, kFakeMost, int)
KILN_FAKE_REDUCE(and, kFakeAnd, unsigned)
KILN_FAKE_REDUCE(or, kFakeOr, unsigned)
KILN_FAKE_REDUCE(xor, kFakeXor, unsigned)
#undef KILN_FAKE_REDUCE
