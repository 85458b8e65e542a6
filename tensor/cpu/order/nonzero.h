// Owns finding the elements that are not zero: counted by blocks first, so that every thread knows where what
// it finds belongs.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/cpu/moves/place_kernels.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

class TrueElements {
 public:
  explicit TrueElements(const Tensor& x);
  // As it was: `flags` are bool and contiguous, `before` says what was counted.
  TrueElements(Tensor flags, Tensor before) : flags_(std::move(flags)), before_(std::move(before)) {}

  std::int64_t count() const { return before_.data<std::int64_t>()[before_.numel().fixed() - 1]; }
  const Tensor& flags() const { return flags_; }
  const Tensor& before() const { return before_; }

  // Calls f(first, places, count, number) for stretches of elements in row-major order, on any number of
  // threads: the elements first + places[i], i < count, are not zero, and are number `number`, `number` + 1,
  // … of those.
  template <class F>
  void each_stretch(const F& f) const {
    const bool* flags = flags_.data<bool>();
    const auto* before = before_.data<std::int64_t>();
    parallel_for(before_.numel() - 1, kBlocksPerThread, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t places[kBlock + kTruePlacesSlack];
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t number = before[block];
        if (number == before[block + 1]) continue;
        const std::int64_t first = block * kBlock;
        const std::int64_t size = std::min(kBlock, flags_.numel().fixed() - first);
        const std::int64_t found = place_kernels().true_places(flags + first, size, places);
        f(first, static_cast<const std::uint32_t*>(places), found, number);
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 4096;
  static constexpr std::int64_t kBlocksPerThread = 8;
  Tensor flags_;
  Tensor before_;  // i64: elements found before each block, and all of them
};

// Writes the index of every element that was found in a tensor of these sizes to `result`, i64 [count, rank].
void nonzero(const Tensor& result, const IntDims& sizes, const TrueElements& found);
// Where the true elements of a mask lie in memory with these strides: i64 [count].
Tensor true_offsets(const Tensor& mask, std::span<const std::int64_t> strides);

}  // namespace kiln::cpu
