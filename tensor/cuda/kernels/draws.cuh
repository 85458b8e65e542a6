// Owns kernels that draw numbers: each thread makes a Philox block and from it the elements that it has words
// for. What is drawn is a type: it has the number of elements of a block, and makes them.
#pragma once

#include "tensor/convert.h"
#include "tensor/cuda/kernels/draw_job.h"
#include "tensor/cuda/kernels/walk.cuh"
#include "tensor/math.h"
#include "tensor/philox.h"

namespace kiln::cuda {

// Words of a block: four, or two of 64 bits, whose low half comes first.
struct Words {
  PhiloxWord x[4];
  KILN_MATH Words of(const DrawJob& job, unsigned long long block) {
    const auto low = [](unsigned long long x) { return static_cast<PhiloxWord>(x); };
    const auto high = [](unsigned long long x) { return static_cast<PhiloxWord>(x >> 32); };
    const PhiloxBlock made = philox_block({low(block), high(block), low(job.offset), high(job.offset)},
                                          low(job.seed), high(job.seed));
    return {{made.x0, made.x1, made.x2, made.x3}};
  }
  __device__ PhiloxPair pair(int i) const { return x[2 * i] | static_cast<PhiloxPair>(x[2 * i + 1]) << 32; }
};

// The 64-bit word of this number.
KILN_MATH PhiloxPair wide_word(const DrawJob& job, Count number) {
  const Words words = Words::of(job, static_cast<unsigned long long>(number) / kWidePerBlock);
  return words.pair(static_cast<int>(number % kWidePerBlock));
}

template <class T>
inline constexpr int kPerBlock = sizeof(T) == 8 ? kWidePerBlock : kNarrowPerBlock;
template <class T>
inline constexpr bool kIsDouble = scalar::kIsSame<T, double>;

KILN_MATH void unit_numbers(const Words& words, float (&to)[4]) {
  for (int i = 0; i < 4; ++i) to[i] = unit_float(words.x[i]);
}
KILN_MATH void unit_numbers(const Words& words, double (&to)[2]) {
  for (int i = 0; i < 2; ++i) to[i] = unit_double(words.pair(i));
}

// Halves keep fewer bits, so that a number below 1 never becomes 1.
template <class T, class Wide>
KILN_MATH Wide truncated(Wide u) {
  if constexpr (scalar::kIsSame<T, Half>) return static_cast<float>(static_cast<int>(u * 0x1p11F)) * 0x1p-11F;
  if constexpr (scalar::kIsSame<T, BFloat16>)
    return static_cast<float>(static_cast<int>(u * 0x1p8F)) * 0x1p-8F;
  return u;
}

// Rounding may reach the open end of the interval; the lowest number stands for it.
template <class Out>
struct Uniform {
  using T = Out;
  static constexpr int kCount = kPerBlock<T>;
  KILN_MATH void make(const DrawJob& job, const Words& words, Count, T (&to)[kCount]) {
    using Wide = decltype(scalar::widen(T()));
    Wide units[kCount];
    unit_numbers(words, units);
    const Wide low = static_cast<Wide>(job.a), high = static_cast<Wide>(job.b);
    for (int i = 0; i < kCount; ++i) {
      const Wide value = low + (high - low) * truncated<T>(units[i]);
      to[i] = scalar::convert<T>(value < high || !(low < high) ? value : low);
    }
  }
};

// Box and Muller's transform: of each pair the first number gives the radius, the second the angle.
template <class T>
KILN_MATH void normal_pair(T positive, T unit, T& across, T& up) {
  constexpr T kTwoPi = static_cast<T>(6.283185307179586476925);
  const T radius = math::sqrt(T(-2) * math::log(positive)), angle = kTwoPi * unit;
  across = radius * math::cos<true>(angle);
  up = radius * math::sin<true>(angle);
}
KILN_MATH void normal_numbers(const Words& words, float (&to)[4]) {
  for (int i = 0; i < 4; i += 2)
    normal_pair(positive_float(words.x[i]), unit_float(words.x[i + 1]), to[i], to[i + 1]);
}
KILN_MATH void normal_numbers(const Words& words, double (&to)[2]) {
  normal_pair(positive_double(words.pair(0)), unit_double(words.pair(1)), to[0], to[1]);
}
template <class Out>
struct Normal {
  using T = Out;
  static constexpr int kCount = kPerBlock<T>;
  KILN_MATH void make(const DrawJob& job, const Words& words, Count, T (&to)[kCount]) {
    using Wide = decltype(scalar::widen(T()));
    Wide numbers[kCount];
    normal_numbers(words, numbers);
    const Wide mean = static_cast<Wide>(job.a), deviation = static_cast<Wide>(job.b);
    for (int i = 0; i < kCount; ++i) to[i] = scalar::convert<T>(mean + deviation * numbers[i]);
  }
};

template <class Out>
struct Integers {
  using T = Out;
  static constexpr int kCount = kWidePerBlock;
  KILN_MATH void make(const DrawJob& job, const Words& words, Count, T (&to)[kCount]) {
    for (int i = 0; i < kCount; ++i) {
      const unsigned long long number =
          static_cast<unsigned long long>(job.low) + __umul64hi(words.pair(i), job.range);
      to[i] = scalar::convert<T>(static_cast<long long>(number));
    }
  }
};

template <class Out>
struct Bernoulli {
  using T = Out;
  static constexpr int kCount = kNarrowPerBlock;
  KILN_MATH void make(const DrawJob& job, const Words& words, Count, T (&to)[kCount]) {
    for (int i = 0; i < kCount; ++i) to[i] = scalar::convert<T>(words.x[i] < job.range ? 1 : 0);
  }
};

// With a chance for each element.
template <class Out>
struct Chances {
  using T = Out;
  static constexpr int kCount = kNarrowPerBlock;
  KILN_MATH void make(const DrawJob& job, const Words& words, Count first, T (&to)[kCount]) {
    for (int i = 0; i < kCount; ++i) {
      const Count at = first + i;
      const double chance =
          at < job.count ? scalar::convert<double>(scalar::widen(element<T>(job.chances, at))) : 0;
      if (!(chance >= 0 && chance <= 1))
        atomicMin_system(job.fault, job.launch << 40 | static_cast<unsigned long long>(at));
      to[i] = scalar::convert<T>(static_cast<double>(words.x[i]) * 0x1p-32 < chance ? 1 : 0);
    }
  }
};

// One element of a draw, for kernels that go on with it. The words (jit/cuda/arguments.h): seed and offset of the
// draw, the bits of both numbers, and the range.
template <class Draw>
KILN_MATH typename Draw::T drawn(const Count* words, Count at) {
  DrawJob job{};
  job.seed = static_cast<unsigned long long>(words[0]);
  job.offset = static_cast<unsigned long long>(words[1]);
  job.a = __builtin_bit_cast(double, words[2]);
  job.b = __builtin_bit_cast(double, words[3]);
  job.range = static_cast<unsigned long long>(words[4]);
  constexpr int kCount = Draw::kCount;
  typename Draw::T made[kCount];
  Draw::make(job, Words::of(job, static_cast<unsigned long long>(at) / kCount), 0, made);
  typename Draw::T element = made[0];
  for (int i = 1; i < kCount; ++i)
    if (at % kCount == i) element = made[i];
  return element;
}

// The elements of a block, as they are stored at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T x[kCount];
};

template <class Draw>
KILN_MATH void draw(const DrawJob& job) {
  using T = typename Draw::T;
  constexpr int kCount = Draw::kCount;
  using Elements = Pack<T, kCount>;
  auto* const result = static_cast<T*>(job.result);
  const bool is_aligned = reinterpret_cast<unsigned long long>(result) % alignof(Elements) == 0;
  const Count blocks = (job.count + kCount - 1) / kCount;
  for (Count block = first_thread(); block < blocks; block += all_threads()) {
    const Count first = block * kCount;
    Elements made;
    Draw::make(job, Words::of(job, static_cast<unsigned long long>(block)), first, made.x);
    if (is_aligned && first + kCount <= job.count) {
      *reinterpret_cast<Elements*>(result + first) = made;
      continue;
    }
    for (int i = 0; i < kCount; ++i)
      if (first + i < job.count) result[first + i] = made.x[i];
  }
}

}  // namespace kiln::cuda
