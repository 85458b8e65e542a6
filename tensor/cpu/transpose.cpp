#include "tensor/cpu/transpose.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/cpu/transpose_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr Dim kShortest = 8;
constexpr std::int64_t kShortestRun = 64, kLongestRun = 512;  // bytes
constexpr std::int64_t kBlockBytes = 4096;  // of runs that follow one another on either side
constexpr std::int64_t kStreamingBytes = std::int64_t{8} << 20;  // results that do not stay in cache

// Matrices inside a space, block by block: rows of the result's matrix lie along the crossing dimension,
// columns along `across`.
class Crossing {
 public:
  Crossing(const Space& space, int dim, std::size_t across, std::int64_t block_rows,
           std::int64_t block_columns)
      : block_rows_(block_rows), block_columns_(block_columns) {
    const auto cross = static_cast<std::size_t>(dim);
    for (std::size_t d = 0; d < across; ++d) {
      if (d == cross) continue;
      sizes_.push_back(space.sizes()[d]);
      to_strides_.push_back(space.strides(0)[d]);
      from_strides_.push_back(space.strides(1)[d]);
      matrices_ *= space.sizes()[d];
    }
    rows_ = space.sizes()[cross];
    columns_ = space.sizes()[across];
    to_row_ = space.strides(0)[cross];
    from_row_ = space.strides(1)[cross];
    to_column_ = space.strides(0)[across];
    from_column_ = space.strides(1)[across];
  }

  // Calls f(from, to, rows, columns) with the places of each block's first elements and its sizes. Blocks
  // follow each other along the rows of the source: the next one's lines are the next in memory.
  template <class F>
  void each_block(std::int64_t grain, const F& f) const {
    const std::int64_t down = (rows_ + block_rows_ - 1) / block_rows_;
    const std::int64_t across = (columns_ + block_columns_ - 1) / block_columns_;
    parallel_for(matrices_ * across * down, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        block(i / (across * down), i % down * block_rows_, i / down % across * block_columns_, f);
    });
  }

  // In elements, from row to row and from column to column.
  Dim to_row() const { return to_row_; }
  Dim to_column() const { return to_column_; }
  Dim from_row() const { return from_row_; }
  Dim from_column() const { return from_column_; }

 private:
  template <class F>
  void block(std::int64_t matrix, std::int64_t row, std::int64_t column, const F& f) const {
    std::int64_t to = row * to_row_ + column * to_column_;
    std::int64_t from = row * from_row_ + column * from_column_;
    for (std::size_t d = sizes_.size(); d-- > 0; matrix /= sizes_[d]) {
      to += matrix % sizes_[d] * to_strides_[d];
      from += matrix % sizes_[d] * from_strides_[d];
    }
    f(from, to, std::min(block_rows_, rows_ - row), std::min(block_columns_, columns_ - column));
  }

  std::int64_t block_rows_, block_columns_;
  Dims sizes_, to_strides_, from_strides_;  // of the dimensions around the matrices
  std::int64_t matrices_ = 1, rows_, columns_;
  Dim to_row_, to_column_, from_row_, from_column_;
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
  constexpr std::int64_t kGrain = 32768;
  const bool streaming = space.numel() * item > kStreamingBytes;
  const std::int64_t rows = streaming ? streamed_rows(item) : transpose_rows(item);
  const std::int64_t columns = transpose_columns(item);
  const auto kernel = transpose_kernels().of_size[std::countr_zero(static_cast<std::uint64_t>(item))];
  const Crossing crossing(space, dim, space.sizes().size() - 1, rows, columns);
  crossing.each_block(std::max<std::int64_t>(1, kGrain / (rows * columns)),
                      [&](std::int64_t from_place, std::int64_t to_place, std::int64_t r, std::int64_t c) {
                        kernel(from + from_place * item, crossing.from_column(), to + to_place * item,
                               crossing.to_row(), r, c, streaming);
                      });
}

int crossing_runs_dim(const Space& space, std::int64_t item) {
  const std::size_t dims = space.sizes().size();
  const Dims& from = space.strides(1);
  const std::int64_t bytes = space.inner() * item;
  if (dims < 3 || space.strides(0)[dims - 1] != 1 || from[dims - 1] != 1) return -1;
  if (bytes < kShortestRun || bytes > kLongestRun) return -1;
  std::size_t best = dims - 2;
  for (std::size_t d = 0; d + 2 < dims; ++d)
    if (from[d] != 0 && from[d] < from[best]) best = d;
  return best == dims - 2 || from[best] * item >= kBlockBytes ? -1 : static_cast<int>(best);
}

void copy_runs_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item) {
  const std::int64_t bytes = space.inner() * item;
  const std::int64_t side = kBlockBytes / bytes;
  const Crossing crossing(space, dim, space.sizes().size() - 2, side, side);
  crossing.each_block(1, [&](std::int64_t from_place, std::int64_t to_place, std::int64_t r, std::int64_t c) {
    for (std::int64_t row = 0; row < r; ++row) {
      const std::byte* source = from + (from_place + row * crossing.from_row()) * item;
      std::byte* target = to + (to_place + row * crossing.to_row()) * item;
      for (std::int64_t column = 0; column < c; ++column) {
        std::memcpy(target, source, static_cast<std::size_t>(bytes));
        source += crossing.from_column() * item;
        target += crossing.to_column() * item;
      }
    }
  });
}

}  // namespace kiln::cpu
