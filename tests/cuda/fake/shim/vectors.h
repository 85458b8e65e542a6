// Owns the vector types of CUDA C++ and accesses of the shim. Their alignment is CUDA's: an access that is
// not aligned may fault here as it does there.
#pragma once

#define KILN_FAKE_VECTOR(T, name, bytes)                                             \
  struct name##1 { T x; };                                                           \
  struct alignas(2 * bytes) name##2 { T x, y; };                                     \
  struct name##3_plain { T x, y, z; };                                               \
  struct alignas(4 * bytes > 16 ? 16 : 4 * bytes) name##4 { T x, y, z, w; };         \
  [[maybe_unused]] static inline name##1 make_##name##1(T x) { return {x}; }         \
  [[maybe_unused]] static inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  [[maybe_unused]] static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
KILN_FAKE_VECTOR(signed char, char, 1)
KILN_FAKE_VECTOR(unsigned char, uchar, 1)
KILN_FAKE_VECTOR(short, short, 2)
KILN_FAKE_VECTOR(unsigned short, ushort, 2)
KILN_FAKE_VECTOR(int, int, 4)
KILN_FAKE_VECTOR(unsigned, uint, 4)
KILN_FAKE_VECTOR(long long, longlong, 8)
KILN_FAKE_VECTOR(unsigned long long, ulonglong, 8)
KILN_FAKE_VECTOR(float, float, 4)
KILN_FAKE_VECTOR(double, double, 8)
#undef KILN_FAKE_VECTOR
using float3 = float3_plain;
using int3 = int3_plain;
using double3 = double3_plain;

// Reads and writes with a hint for the caches.
#define KILN_FAKE_READ(name)         \
  template <class T>                 \
  static inline T name(const T* p) { \
    return *p;                       \
  }
KILN_FAKE_READ(__ldg)
KILN_FAKE_READ(__ldca)
KILN_FAKE_READ(__ldcg)
KILN_FAKE_READ(__ldcs)
KILN_FAKE_READ(__ldlu)
KILN_FAKE_READ(__ldcv)
#undef KILN_FAKE_READ
#define KILN_FAKE_WRITE(name)                          \
  template <class T>                                   \
  static inline void name(T* p, decltype(T()) value) { \
    *p = value;                                        \
  }
KILN_FAKE_WRITE(__stwb)
KILN_FAKE_WRITE(__stcg)
KILN_FAKE_WRITE(__stcs)
KILN_FAKE_WRITE(__stwt)
#undef KILN_FAKE_WRITE
