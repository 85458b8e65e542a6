// Owns the kernels that look at indices and masks, compiled once per instruction set.
#include <algorithm>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "tensor/cpu/moves/place_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

void extent(const std::int64_t* values, std::int64_t count, std::int64_t& least, std::int64_t& greatest) {
  std::int64_t low = least, high = greatest;
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  least = low;
  greatest = high;
}

std::int64_t count_true(const bool* flags, std::int64_t count) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(flags);
  std::int64_t total = 0;
  // A byte holds the sum of up to 255 flags.
  for (std::int64_t i = 0; i < count;) {
    constexpr std::int64_t kWidth = 64;
    std::uint8_t sums[kWidth] = {};
    const std::int64_t rounds = std::min<std::int64_t>(255, (count - i) / kWidth);
    for (std::int64_t r = 0; r < rounds; ++r, i += kWidth)
      for (std::int64_t j = 0; j < kWidth; ++j) sums[j] = static_cast<std::uint8_t>(sums[j] + bytes[i + j]);
    for (const std::uint8_t sum : sums) total += sum;
    if (rounds == 0)
      for (; i < count; ++i) total += bytes[i];
  }
  return total;
}

// Every place is written, the next one over it unless it stays: there is nothing to predict.
std::int64_t true_places_one_by_one(const bool* flags, std::int64_t begin, std::int64_t end,
                                    std::uint32_t* places, std::int64_t found) {
  for (std::int64_t i = begin; i < end; ++i) {
    places[found] = static_cast<std::uint32_t>(i);
    found += flags[i];
  }
  return found;
}

std::int64_t true_places(const bool* flags, std::int64_t count, std::uint32_t* places) {
  std::int64_t found = 0, i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  const __m512i ramp = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + i));
    const __mmask16 mask = _mm_test_epi8_mask(bytes, bytes);
    const __m512i here = _mm512_add_epi32(ramp, _mm512_set1_epi32(static_cast<int>(i)));
    _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(mask, here));
    found += __builtin_popcount(mask);
  }
#endif
  return true_places_one_by_one(flags, i, count, places, found);
}

}  // namespace

const PlaceKernels& place_kernels() {
  static const PlaceKernels kernels{&extent, &count_true, &true_places};
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
