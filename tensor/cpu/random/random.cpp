#include "tensor/cpu/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/cpu/random/random_kernels.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace kiln::cpu {

namespace {

template <class Wide>
constexpr int per_block = std::is_same_v<Wide, double> ? kWidePerBlock : kNarrowPerBlock;

// Blocks made at a time: their words and numbers stay in the first cache.
constexpr std::int64_t kChunk = 256;

template <class T>
T store(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// The high half of a product: a word scaled to [0, range).
std::uint64_t scale(std::uint64_t word, std::uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{word} * range) >> 64);
}

std::uint64_t wide(const std::uint32_t* words, std::int64_t i) {
  return words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32;
}

// Calls f(words, blocks, words to leave out, first element, elements) for chunks of elements
// [first, first + count) of a draw, `per_block` to a block.
template <class F>
void for_words(const Generator& draw, std::int64_t first, std::int64_t count, int per_block, const F& f) {
  const RandomKernels& kernels = random_kernels();
  std::array<std::uint32_t, 4 * kChunk> words;
  for (std::int64_t at = first, end = first + count; at < end;) {
    const std::int64_t block = at / per_block, skipped = at % per_block;
    const std::int64_t blocks = std::min(kChunk, ceil_divide(end, per_block) - block);
    kernels.words(draw.seed, draw.offset, static_cast<std::uint64_t>(block), blocks, words.data());
    const std::int64_t some = std::min(blocks * per_block - skipped, end - at);
    f(words.data(), blocks, skipped, at, some);
    at += some;
  }
}
// Likewise all elements, in threads.
template <class F>
void for_all(std::int64_t count, int per_block, const F& part) {
  const std::int64_t chunk = kChunk * per_block;
  parallel_for(ceil_divide(count, chunk), 4, [&](std::int64_t begin, std::int64_t end) {
    part(begin * chunk, std::min(end * chunk, count) - begin * chunk);
  });
}

// Numbers of a kernel, scaled and shifted in their own precision, then stored. Halves keep fewer bits, so
// that a number below 1 never becomes 1.
template <class Wide, class T, class Kernel, class Map>
void fill_floats(T* to, std::int64_t first, std::int64_t count, const Generator& draw, const Kernel& kernel,
                 const Map& map) {
  for_words(draw, first, count, per_block<Wide>,
            [&](const std::uint32_t* words, std::int64_t blocks, std::int64_t skipped, std::int64_t at,
                std::int64_t some) {
              Wide numbers[kNarrowPerBlock * kChunk];
              kernel(words, blocks, numbers);
              for (std::int64_t i = 0; i < some; ++i) to[at - first + i] = map(numbers[skipped + i]);
            });
}

template <class T>
float truncate_unit(float u) {
  if constexpr (std::is_same_v<T, Half>) return static_cast<float>(static_cast<int>(u * 0x1p11F)) * 0x1p-11F;
  if constexpr (std::is_same_v<T, BFloat16>)
    return static_cast<float>(static_cast<int>(u * 0x1p8F)) * 0x1p-8F;
  return u;
}

// Rounding may reach the open end of an interval; the number before it stands for it.
template <class Wide>
Wide between(Wide low, Wide high, Wide u) {
  const Wide value = low + (high - low) * u;
  return value < high || !(low < high) ? value : low;
}

template <class T>
void uniform_part(const Distribution& of, const Generator& draw, std::int64_t first, std::int64_t count,
                  T* to) {
  const RandomKernels& kernels = random_kernels();
  if constexpr (std::is_same_v<T, double>) {
    fill_floats<double>(to, first, count, draw, kernels.uniform_f64,
                        [&](double u) { return between(of.a, of.b, u); });
  } else {
    const auto low = static_cast<float>(of.a), high = static_cast<float>(of.b);
    fill_floats<float>(to, first, count, draw, kernels.uniform_f32,
                       [=](float u) { return store<T>(between(low, high, truncate_unit<T>(u))); });
  }
}

template <class T>
void normal_part(const Distribution& of, const Generator& draw, std::int64_t first, std::int64_t count,
                 T* to) {
  const RandomKernels& kernels = random_kernels();
  if constexpr (std::is_same_v<T, double>) {
    fill_floats<double>(to, first, count, draw, kernels.normal_f64,
                        [&](double z) { return of.a + of.b * z; });
  } else {
    const auto mean = static_cast<float>(of.a), std = static_cast<float>(of.b);
    fill_floats<float>(to, first, count, draw, kernels.normal_f32,
                       [=](float z) { return store<T>(mean + std * z); });
  }
}

// `probabilities` from element `first` on. No branch: nobody can foresee these.
template <class T>
void bernoulli_part(const double* probabilities, const Generator& draw, std::int64_t first,
                    std::int64_t count, T* to) {
  for_words(draw, first, count, kNarrowPerBlock,
            [&](const std::uint32_t* words, std::int64_t, std::int64_t skipped, std::int64_t at,
                std::int64_t some) {
              const T result[] = {store<T>(0), store<T>(1)};
              for (std::int64_t i = 0; i < some; ++i) {
                const double u = static_cast<double>(words[skipped + i]) * 0x1p-32;
                to[at - first + i] = result[u < probabilities[at - first + i] ? 1 : 0];
              }
            });
}

// The same of one probability: words below it as a share of all words.
template <class T>
void bernoulli_part(double probability, const Generator& draw, std::int64_t first, std::int64_t count,
                    T* to) {
  if (!(probability > 0) || probability >= 1) {
    std::fill_n(to, count, store<T>(probability >= 1 ? 1 : 0));
    return;
  }
  const double share = std::ceil(probability * 0x1p32);
  const auto last = static_cast<std::uint32_t>(static_cast<std::uint64_t>(share) - 1);
  for_words(draw, first, count, kNarrowPerBlock,
            [=](const std::uint32_t* words, std::int64_t, std::int64_t skipped, std::int64_t at,
                std::int64_t some) {
              const T no = store<T>(0), yes = store<T>(1);
              for (std::int64_t i = 0; i < some; ++i)
                to[at - first + i] = words[skipped + i] <= last ? yes : no;
            });
}

void fill_all(const Tensor& out, const Generator& draw, const Distribution& of) {
  const auto item = static_cast<std::int64_t>(size_of(out.dtype()));
  std::byte* const to = out.raw_writable();
  const bool wide = out.dtype() == DType::F64;
  for_all(out.numel(), wide ? per_block<double> : per_block<float>,
          [&](std::int64_t first, std::int64_t count) {
            fill_part(out.dtype(), of, draw, first, count, to + first * item);
          });
}

}  // namespace

void fill_part(DType dtype, const Distribution& of, const Generator& draw, std::int64_t first,
               std::int64_t count, std::byte* to) {
  visit_dtype(dtype, [&]<class T>() {
    T* const out = reinterpret_cast<T*>(to);
    switch (of.kind) {
      case Distribution::Kind::Uniform:
        return uniform_part(of, draw, first, count, out);
      case Distribution::Kind::Normal:
        return normal_part(of, draw, first, count, out);
      case Distribution::Kind::Bernoulli:
        break;
    }
    bernoulli_part(of.a, draw, first, count, out);
  });
}

void fill_uniform(const Tensor& out, const Generator& draw, double low, double high) {
  fill_all(out, draw, {Distribution::Kind::Uniform, low, high});
}

void fill_normal(const Tensor& out, const Generator& draw, double mean, double std) {
  fill_all(out, draw, {Distribution::Kind::Normal, mean, std});
}

void fill_integers(const Tensor& out, const Generator& draw, std::int64_t low, std::uint64_t range) {
  visit_dtype(out.dtype(), [&]<class T>() {
    T* const to = out.writable<T>();
    const auto value = [=](const std::uint32_t* words, std::int64_t i) {
      const std::uint64_t number = static_cast<std::uint64_t>(low) + scale(wide(words, i), range);
      if constexpr (std::is_integral_v<T>) return static_cast<T>(number);
      return store<T>(static_cast<double>(static_cast<std::int64_t>(number)));
    };
    for_all(out.numel(), kWidePerBlock, [&](std::int64_t first, std::int64_t count) {
      for_words(draw, first, count, kWidePerBlock,
                [&](const std::uint32_t* words, std::int64_t, std::int64_t skipped, std::int64_t at,
                    std::int64_t some) {
                  for (std::int64_t i = 0; i < some; ++i) to[at + i] = value(words, skipped + i);
                });
    });
  });
}

void fill_bernoulli(const Tensor& out, const Generator& draw, const Tensor& probabilities) {
  const auto* const p = probabilities.data<double>();
  const std::int64_t step = probabilities.numel() == 1 ? 0 : 1;
  visit_dtype(out.dtype(), [&]<class T>() {
    T* const to = out.writable<T>();
    for_all(out.numel(), kNarrowPerBlock, [&](std::int64_t first, std::int64_t count) {
      if (step == 0) return bernoulli_part(*p, draw, first, count, to + first);
      bernoulli_part(p + first, draw, first, count, to + first);
    });
  });
}

WordStream::WordStream(const Generator& draw, std::uint64_t first) : draw_(draw), block_(first / kPerBlock) {
  if (first % kPerBlock != 0) next();
}

void WordStream::make_more() {
  std::array<std::uint32_t, 4 * kMostBlocks> halves;
  random_kernels().words(draw_.seed, draw_.offset, block_, blocks_, halves.data());
  made_ = static_cast<std::size_t>(blocks_ * kPerBlock);
  for (std::size_t i = 0; i < made_; ++i) words_[i] = wide(halves.data(), static_cast<std::int64_t>(i));
  block_ += static_cast<std::uint64_t>(blocks_);
  blocks_ = std::min(2 * blocks_, kMostBlocks);
  at_ = 0;
}

std::uint64_t WordStream::below(std::uint64_t range) { return scale(next(), range); }

}  // namespace kiln::cpu
