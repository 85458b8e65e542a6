#include "tensor/cpu/transpose.h"

#include <algorithm>
#include <bit>

#include "tensor/cpu/transpose_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr Dim kShortest = 8;
constexpr std::int64_t kStreamingBytes = std::int64_t{8} << 20;  // results that do not stay in cache

// A matrix inside the space: rows lie along the crossing dimension, columns along the last.
class Crossing {
 public:
  Crossing(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item)
      : item_(item), to_(to), from_(from) {
    const auto last = space.sizes().size() - 1;
    const auto cross = static_cast<std::size_t>(dim);
    for (std::size_t d = 0; d < last; ++d) {
      if (d == cross) continue;
      sizes_.push_back(space.sizes()[d]);
      to_strides_.push_back(space.strides(0)[d]);
      from_strides_.push_back(space.strides(1)[d]);
      matrices_ *= space.sizes()[d];
    }
    rows_ = space.sizes()[cross];
    columns_ = space.sizes()[last];
    to_stride_ = space.strides(0)[cross];
    from_stride_ = space.strides(1)[last];
    streaming_ = space.numel() * item > kStreamingBytes;
  }

  // Blocks follow each other along the rows of the source: the next one's lines are the next in memory.
  void operator()() const {
    const std::int64_t down = (rows_ + block_rows_ - 1) / block_rows_;
    const std::int64_t across = (columns_ + block_columns_ - 1) / block_columns_;
    constexpr std::int64_t kGrain = 32768;
    parallel_for(matrices_ * across * down,
                 std::max<std::int64_t>(1, kGrain / (block_rows_ * block_columns_)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     block(i / (across * down), i % down * block_rows_, i / down % across * block_columns_);
                 });
  }

 private:
  void block(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
    std::int64_t to = row * to_stride_ + column;
    std::int64_t from = row + column * from_stride_;
    for (std::size_t d = sizes_.size(); d-- > 0; matrix /= sizes_[d]) {
      to += matrix % sizes_[d] * to_strides_[d];
      from += matrix % sizes_[d] * from_strides_[d];
    }
    kernel_(from_ + from * item_, from_stride_, to_ + to * item_, to_stride_,
            std::min(block_rows_, rows_ - row), std::min(block_columns_, columns_ - column), streaming_);
  }

  Dims sizes_, to_strides_, from_strides_;  // of the dimensions around the matrices
  std::int64_t matrices_ = 1, rows_, columns_, to_stride_, from_stride_;
  std::int64_t item_, block_rows_ = transpose_rows(item_), block_columns_ = transpose_columns(item_);
  TransposeKernel kernel_ = transpose_kernels().of_size[std::countr_zero(static_cast<std::uint64_t>(item_))];
  bool streaming_;
  std::byte* to_;
  const std::byte* from_;
};

}  // namespace

int crossing_dim(const Space& space) {
  const Dims& to = space.strides(0);
  const Dims& from = space.strides(1);
  if (to.back() != 1 || from.back() == 1 || from.back() == 0 || space.inner() < kShortest) return -1;
  for (std::size_t d = 0; d + 1 < from.size(); ++d) {
    if (from[d] == 1 && space.sizes()[d] >= kShortest) return static_cast<int>(d);
  }
  return -1;
}

void copy_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item) {
  Crossing(space, dim, to, from, item)();
}

}  // namespace kiln::cpu
