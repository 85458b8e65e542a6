#include "tensor/cpu/transpose.h"

#include <cstring>

#include "tensor/cpu/transpose_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr Dim kShortest = 8;
constexpr std::int64_t kStreamingBytes = std::int64_t{8} << 20;  // results that do not stay in cache

// A matrix inside the space: rows lie along the crossing dimension, columns along the last.
template <class T>
class Crossing {
 public:
  Crossing(const Space& space, int dim, std::byte* to, const std::byte* from)
      : to_(reinterpret_cast<T*>(to)), from_(reinterpret_cast<const T*>(from)) {
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
    streaming_ = space.numel() * static_cast<std::int64_t>(sizeof(T)) > kStreamingBytes;
  }

  void operator()() const {
    const std::int64_t down = (rows_ + kTile - 1) / kTile;
    const std::int64_t across = (columns_ + kTile - 1) / kTile;
    parallel_for(matrices_ * down * across, std::max<std::int64_t>(1, 32768 / (kTile * kTile)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     tile(i / (down * across), i / across % down * kTile, i % across * kTile);
                 });
  }

 private:
  static constexpr std::int64_t kTile = kTransposeBytes / static_cast<std::int64_t>(sizeof(T));

  void tile(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
    std::int64_t to = row * to_stride_ + column;
    std::int64_t from = row + column * from_stride_;
    for (std::size_t d = sizes_.size(); d-- > 0; matrix /= sizes_[d]) {
      to += matrix % sizes_[d] * to_strides_[d];
      from += matrix % sizes_[d] * from_strides_[d];
    }
    const std::int64_t rows = std::min(kTile, rows_ - row);
    const std::int64_t columns = std::min(kTile, columns_ - column);
    if (rows == kTile && columns == kTile && whole(from_ + from, to_ + to)) return;
    alignas(64) T block[kTile * kTile];
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r) block[r * kTile + c] = from_[from + c * from_stride_ + r];
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(to_ + to + r * to_stride_, block + r * kTile,
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
  }

  // A whole tile, of elements that a kernel is there for.
  bool whole([[maybe_unused]] const T* from, [[maybe_unused]] T* to) const {
    if constexpr (sizeof(T) == 4) {
      transpose_kernels().words(from, from_stride_, to, to_stride_, streaming_);
    } else if constexpr (sizeof(T) == 8) {
      transpose_kernels().doubles(from, from_stride_, to, to_stride_, streaming_);
    }
    return sizeof(T) >= 4;
  }

  Dims sizes_, to_strides_, from_strides_;  // of the dimensions around the matrices
  std::int64_t matrices_ = 1, rows_, columns_, to_stride_, from_stride_;
  bool streaming_;
  T* to_;
  const T* from_;
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
  switch (item) {
    case 1:
      return Crossing<std::uint8_t>(space, dim, to, from)();
    case 2:
      return Crossing<std::uint16_t>(space, dim, to, from)();
    case 4:
      return Crossing<std::uint32_t>(space, dim, to, from)();
    default:
      return Crossing<std::uint64_t>(space, dim, to, from)();
  }
}

}  // namespace kiln::cpu
