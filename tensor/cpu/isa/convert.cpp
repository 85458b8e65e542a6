// Conversions between dtypes and the types of the arithmetic, gathering and scattering strided elements.
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "tensor/convert.h"
#include "tensor/cpu/kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

using math::Int32;
using math::Int64;

using scalar::convert;
using scalar::widen;

// The processor's own conversion, of whole vectors, tells how many elements it took.
std::int64_t widen_vectors([[maybe_unused]] const Half* from, [[maybe_unused]] float* to,
                           [[maybe_unused]] std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, halves));
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  return i;
}

template <class From, class To>
void load(const void* source, std::int64_t stride, void* block, std::int64_t n) {
  const From* from = static_cast<const From*>(source);
  To* to = static_cast<To*>(block);
  if (stride == 1) {
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
      const std::int64_t done = widen_vectors(from, to, n);
      from += done, to += done, n -= done;
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(widen(from[i]));
  } else if (stride == -1) {  // known to the compiler, it reverses vectors
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(widen(from[-i]));
  } else if (stride == 2) {  // or picks every other element of them
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(widen(from[2 * i]));
  } else if (stride == 0) {
    const To value = convert<To>(widen(*from));
    for (std::int64_t i = 0; i < n; ++i) to[i] = value;
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(widen(from[i * stride]));
  }
}

std::int64_t narrow_vectors([[maybe_unused]] const float* from, [[maybe_unused]] Half* to,
                            [[maybe_unused]] std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const __m256i halves =
        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
#endif
  return i;
}

template <class From, class To>
void store(const void* block, void* target, std::int64_t stride, std::int64_t n) {
  const From* from = static_cast<const From*>(block);
  To* to = static_cast<To*>(target);
  if (stride == 1) {
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
      const std::int64_t done = narrow_vectors(from, to, n);
      from += done, to += done, n -= done;
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(widen(from[i]));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = convert<To>(widen(from[i]));
  }
}

template <DType D>
void add_dtype(ConvertTable& table) {
  using T = typename ElementOf<D>::type;
  constexpr int kD = static_cast<int>(D);
  table.load[kD][0] = &load<T, float>;
  table.load[kD][1] = &load<T, double>;
  table.load[kD][2] = &load<T, Int32>;
  table.load[kD][3] = &load<T, Int64>;
  table.store[0][kD] = &store<float, T>;
  table.store[1][kD] = &store<double, T>;
  table.store[2][kD] = &store<Int32, T>;
  table.store[3][kD] = &store<Int64, T>;
  table.store_bool[kD] = &store<bool, T>;
}

template <class T>
void add_raw(ConvertTable& table, int log_size) {
  table.load_raw[log_size] = &load<T, T>;
  table.store_raw[log_size] = &store<T, T>;
}

}  // namespace

const ConvertTable& convert_table() {
  static const ConvertTable table = [] {
    ConvertTable built;
    add_dtype<DType::Bool>(built);
    add_dtype<DType::U8>(built);
    add_dtype<DType::I8>(built);
    add_dtype<DType::I16>(built);
    add_dtype<DType::I32>(built);
    add_dtype<DType::I64>(built);
    add_dtype<DType::F16>(built);
    add_dtype<DType::BF16>(built);
    add_dtype<DType::F32>(built);
    add_dtype<DType::F64>(built);
    add_raw<std::uint8_t>(built, 0);
    add_raw<std::uint16_t>(built, 1);
    add_raw<std::uint32_t>(built, 2);
    add_raw<std::uint64_t>(built, 3);
    return built;
  }();
  return table;
}

}  // namespace kiln::cpu::KILN_ISA
