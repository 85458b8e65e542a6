// Owns finding the elements that are not zero: counted by blocks first, so that every thread knows where what
// it finds belongs.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/cpu/moves/place_kernels.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

class TrueElements {
 public:
  explicit TrueElements(const Tensor& x);
  std::int64_t count() const { return before_.back(); }

  // Calls f(first, places, count, number) for stretches of elements in row-major order, on any number of
  // threads: the elements first + places[i], i < count, are not zero, and are number `number`, `number` + 1,
  // … of those.
  template <class F>
  void each_stretch(const F& f) const {
    const bool* flags = flags_.data<bool>();
    const auto blocks = static_cast<std::int64_t>(before_.size()) - 1;
    parallel_for(blocks, kBlocksPerThread, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t places[kBlock + kTruePlacesSlack];
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t number = before_[static_cast<std::size_t>(block)];
        if (number == before_[static_cast<std::size_t>(block) + 1]) continue;
        const std::int64_t first = block * kBlock;
        const std::int64_t size = std::min(kBlock, flags_.numel() - first);
        const std::int64_t found = place_kernels().true_places(flags + first, size, places);
        f(first, static_cast<const std::uint32_t*>(places), found, number);
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 4096;
  static constexpr std::int64_t kBlocksPerThread = 8;
  Tensor flags_;
  std::vector<std::int64_t> before_;  // elements found before each block, and all of them
};

// The index of every element that is not zero, i64 [count, rank].
Tensor nonzero(const Tensor& x);
// Where the true elements of a mask lie in memory with these strides: i64 [count].
Tensor true_offsets(const Tensor& mask, std::span<const Dim> strides);
// The elements of a contiguous x where a mask of its shape is true.
Tensor take_true(const Tensor& x, const Tensor& mask);

}  // namespace kiln::cpu
