// Owns atomic operations and fences for the shim of CUDA C++. The host may look at its memory while a kernel
// runs, so they are atomic to it too.
#pragma once

#include "checks.h"

template <class T, class F>
static inline T kiln_fake_update(T* place, const F& f) {
  kiln_fake_atomic(place, sizeof(T));
  T old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  while (true) {
    T wanted = f(old);
    if (__atomic_compare_exchange(place, &old, &wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      return old;
  }
}

#define KILN_FAKE_ATOMIC(name, T, expression)                                     \
  static inline T name(T* place, T value) {                                       \
    return kiln_fake_update(place, [=](T old) -> T { return expression; });       \
  }                                                                               \
  static inline T name##_system(T* place, T value) { return name(place, value); } \
  static inline T name##_block(T* place, T value) { return name(place, value); }
#define KILN_FAKE_ATOMICS(T)                                       \
  KILN_FAKE_ATOMIC(atomicExch, T, (static_cast<void>(old), value)) \
  KILN_FAKE_ATOMIC(atomicMin, T, old < value ? old : value)        \
  KILN_FAKE_ATOMIC(atomicMax, T, old > value ? old : value)        \
  KILN_FAKE_ATOMIC(atomicAnd, T, old& value)                       \
  KILN_FAKE_ATOMIC(atomicOr, T, old | value)                       \
  KILN_FAKE_ATOMIC(atomicXor, T, old ^ value)
KILN_FAKE_ATOMICS(int)
KILN_FAKE_ATOMICS(unsigned)
KILN_FAKE_ATOMICS(unsigned long long)
KILN_FAKE_ATOMIC(atomicMin, long long, old < value ? old : value)
KILN_FAKE_ATOMIC(atomicMax, long long, old > value ? old : value)
KILN_FAKE_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
// A sum wraps.
KILN_FAKE_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
KILN_FAKE_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
KILN_FAKE_ATOMIC(atomicAdd, unsigned, old + value)
KILN_FAKE_ATOMIC(atomicSub, unsigned, old - value)
KILN_FAKE_ATOMIC(atomicAdd, unsigned long long, old + value)
KILN_FAKE_ATOMIC(atomicAdd, float, old + value)
KILN_FAKE_ATOMIC(atomicAdd, double, old + value)
KILN_FAKE_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
KILN_FAKE_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef KILN_FAKE_ATOMICS
#undef KILN_FAKE_ATOMIC

#define KILN_FAKE_CAS(T)                                                                            \
  static inline T atomicCAS(T* place, T expected, T value) {                                        \
    kiln_fake_atomic(place, sizeof(T));                                                             \
    __atomic_compare_exchange(place, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                                \
  }                                                                                                 \
  static inline T atomicCAS_system(T* place, T expected, T value) {                                 \
    return atomicCAS(place, expected, value);                                                       \
  }
KILN_FAKE_CAS(int)
KILN_FAKE_CAS(unsigned)
KILN_FAKE_CAS(unsigned long long)
KILN_FAKE_CAS(unsigned short)
#undef KILN_FAKE_CAS

// A fence of a block is taken for one of the card.
static inline void __threadfence() {
  kiln_fake_fence();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }
static inline void __nanosleep(unsigned) {}
