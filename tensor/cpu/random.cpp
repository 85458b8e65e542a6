#include "tensor/cpu/random.h"

#include <algorithm>
#include <array>

#include "tensor/cpu/random_kernels.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace kiln::cpu {

namespace {

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

// Calls f(words, blocks, first element, elements) for chunks of a draw of `count` elements, `per_block` to a
// block.
template <class F>
void for_words(const Generator& draw, std::int64_t count, int per_block, const F& f) {
  const std::int64_t blocks = (count + per_block - 1) / per_block;
  const std::int64_t chunks = (blocks + kChunk - 1) / kChunk;
  const RandomKernels& kernels = random_kernels();
  parallel_for(chunks, 4, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::uint32_t, 4 * kChunk> words;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * kChunk;
      const std::int64_t some = std::min(kChunk, blocks - first);
      kernels.words(draw.seed, draw.offset, static_cast<std::uint64_t>(first), some, words.data());
      f(words.data(), some, first * per_block, std::min(some * per_block, count - first * per_block));
    }
  });
}

// Numbers of a kernel, scaled and shifted in their own precision, then stored. Halves keep fewer bits, so
// that a number below 1 never becomes 1.
template <class Wide, class T, class Kernel, class Map>
void fill_floats(const Tensor& out, const Generator& draw, const Kernel& kernel, const Map& map) {
  constexpr int kPerBlock = std::is_same_v<Wide, double> ? kWidePerBlock : kNarrowPerBlock;
  T* to = out.writable<T>();
  for_words(draw, out.numel(), kPerBlock,
            [&](const std::uint32_t* words, std::int64_t blocks, std::int64_t first, std::int64_t count) {
              Wide numbers[kNarrowPerBlock * kChunk];
              kernel(words, blocks, numbers);
              for (std::int64_t i = 0; i < count; ++i) to[first + i] = map(numbers[i]);
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

}  // namespace

Generator next_draw() {
  const Generator draw = generator();
  ++generator().offset;
  return draw;
}

void fill_uniform(const Tensor& out, const Generator& draw, double low, double high) {
  const RandomKernels& kernels = random_kernels();
  visit_dtype(out.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, double>) {
      fill_floats<double, T>(out, draw, kernels.uniform_f64, [=](double u) { return between(low, high, u); });
    } else {
      const auto l = static_cast<float>(low);
      const auto h = static_cast<float>(high);
      fill_floats<float, T>(out, draw, kernels.uniform_f32,
                            [=](float u) { return store<T>(between(l, h, truncate_unit<T>(u))); });
    }
  });
}

void fill_normal(const Tensor& out, const Generator& draw, double mean, double std) {
  const RandomKernels& kernels = random_kernels();
  visit_dtype(out.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, double>) {
      fill_floats<double, T>(out, draw, kernels.normal_f64, [=](double z) { return mean + std * z; });
    } else {
      const auto m = static_cast<float>(mean);
      const auto s = static_cast<float>(std);
      fill_floats<float, T>(out, draw, kernels.normal_f32, [=](float z) { return store<T>(m + s * z); });
    }
  });
}

void fill_integers(const Tensor& out, const Generator& draw, std::int64_t low, std::uint64_t range) {
  visit_dtype(out.dtype(), [&]<class T>() {
    T* to = out.writable<T>();
    for_words(draw, out.numel(), kWidePerBlock,
              [=](const std::uint32_t* words, std::int64_t, std::int64_t first, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) {
                  const std::uint64_t value = static_cast<std::uint64_t>(low) + scale(wide(words, i), range);
                  if constexpr (std::is_integral_v<T>) {
                    to[first + i] = static_cast<T>(value);
                  } else {
                    to[first + i] = store<T>(static_cast<double>(static_cast<std::int64_t>(value)));
                  }
                }
              });
  });
}

void fill_bernoulli(const Tensor& out, const Generator& draw, const Tensor& probabilities) {
  const auto* p = probabilities.data<double>();
  const std::int64_t step = probabilities.numel() == 1 ? 0 : 1;
  visit_dtype(out.dtype(), [&]<class T>() {
    T* to = out.writable<T>();
    for_words(draw, out.numel(), kNarrowPerBlock,
              [=](const std::uint32_t* words, std::int64_t, std::int64_t first, std::int64_t count) {
                const T no = store<T>(0);
                const T yes = store<T>(1);
                for (std::int64_t i = 0; i < count; ++i) {
                  to[first + i] = static_cast<double>(words[i]) * 0x1p-32 < p[(first + i) * step] ? yes : no;
                }
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
