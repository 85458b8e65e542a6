// Owns filling tensors with random numbers on the CPU. Every element depends on the draw and its place alone.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/lowering.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Contiguous tensors of a float dtype: low + (high - low) * u with u in [0, 1); mean + std * z with z normal.
void fill_uniform(const Tensor& out, const Generator& draw, double low, double high);
void fill_normal(const Tensor& out, const Generator& draw, double mean, double std);
// Contiguous, any dtype: integers of [low, low + range), range >= 1.
void fill_integers(const Tensor& out, const Generator& draw, std::int64_t low, std::uint64_t range);
// Contiguous, any dtype: 1 with a probability, else 0. `probabilities` is f64 and contiguous, one for each
// element or one for all.
void fill_bernoulli(const Tensor& out, const Generator& draw, const Tensor& probabilities);

// Elements [first, first + count) of what the functions above fill a tensor of the dtype with.
void fill_part(DType dtype, const Distribution& distribution, const Generator& draw, std::int64_t first,
               std::int64_t count, std::byte* to);

// 64-bit words of a draw, from number `first` on, one after the other. They are made many at a time, the more
// the more are taken.
class WordStream {
 public:
  explicit WordStream(const Generator& draw, std::uint64_t first = 0);
  std::uint64_t next() {
    if (at_ == made_) make_more();
    return words_[at_++];
  }
  // Uniform in [0, range).
  std::uint64_t below(std::uint64_t range);

 private:
  static constexpr std::int64_t kMostBlocks = 128;
  static constexpr std::int64_t kPerBlock = 2;

  void make_more();

  Generator draw_;
  std::uint64_t block_;  // the next one
  std::int64_t blocks_ = 1;
  std::size_t at_ = 0, made_ = 0;
  std::array<std::uint64_t, kMostBlocks * kPerBlock> words_;
};

}  // namespace kiln::cpu
