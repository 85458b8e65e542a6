// Owns what a launch of a printed nest is given, as words in the order of `Arguments` in
// tensor/cuda/kernels/nest.cuh.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/kernels/draw_job.h"
#include "tensor/host_view.h"
#include "tensor/shape.h"

namespace kiln::jit {

using cuda::WalkAxes;

inline constexpr std::size_t kMostAxes = cuda::kMostAxes;
inline constexpr std::int64_t kLanes = 32;
inline constexpr std::size_t kDrawWords = 5;  // as `drawn` in tensor/cuda/kernels/draws.cuh reads them

struct NestArguments {
  std::int64_t rows = 1, length = 1, blocks = 1;
  WalkAxes outer, inner;
};

// With places left for the operands' memory (`data`), the sizes and the launch's number.
class ArgumentWords {
 public:
  // `results`: operands without axes, which follow the others.
  ArgumentWords(const NestArguments& given, std::size_t results, std::span<const std::int64_t> numbers);

  void put_data(std::size_t operand, const void* data) {
    words_[data_ + operand] = reinterpret_cast<std::uint64_t>(data);
  }
  // In the place of an operand's address, a number itself.
  void put_number(std::size_t operand, const HostView& number) {
    std::memcpy(&words_[data_ + operand], number.bytes(), number.byte_count());
  }
  // In the places of numbers from `first` on.
  void put_numbers(std::size_t first, std::span<const std::int64_t> numbers);
  // The same of what a draw is made of.
  void put_draw(std::size_t first, const cuda::DrawJob& draw);
  const void* data(std::size_t operand) const {
    return reinterpret_cast<const void*>(words_[data_ + operand]);
  }
  void put_launch(const void* fault, std::uint64_t launch) {
    words_[words_.size() - 2] = reinterpret_cast<std::uint64_t>(fault);
    words_.back() = launch;
  }
  std::span<const std::uint64_t> words() const { return words_; }

 private:
  void add(const WalkAxes& axes);

  std::vector<std::uint64_t> words_;
  std::size_t data_ = 0, numbers_ = 0;
};

}  // namespace kiln::jit
