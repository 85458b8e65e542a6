// Owns the kernels that find where extrema are, compiled once per instruction set: elements become keys in
// registers, of their own width, and the first of the greatest keys is looked for.
#include <algorithm>

#include "tensor/cpu/folds/extremum_kernels.h"
#include "tensor/cpu/isa/key_vectors.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// ---- Rows ------------------------------------------------------------------------------------------------

// Looks for the extremum of a row of at least one vector. What is left of a row after its last whole vector
// is read as a vector that overlaps that one.
template <class Key, class Order, int kBytes>
class RowSearch {
 public:
  explicit RowSearch(const Order& order) : order_(order) {}

  std::int64_t operator()(const Key* row, std::int64_t count) const {
    Vector greatest = greatest_lane<Key>(greatest_of(row, std::min(count, kStretch)));
    std::int64_t at = 0;
    for (std::int64_t i = kStretch; i < count; i += kStretch) {
      const std::int64_t first = std::min(i, count - kLanes);
      const Vector found = greatest_of(row + first, std::min(count - first, kStretch));
      if (true_bytes(found > greatest) == 0) continue;
      greatest = greatest_lane<Key>(found);
      at = first;
    }
    return at + find(row + at, std::min(count - at, kStretch), greatest);
  }

 private:
  using Vector = typename KeyVector<Key, kBytes>::Type;
  static constexpr std::int64_t kLanes = KeyVector<Key, kBytes>::kLanes;
  // Only the stretch that has the extremum is looked through for its place, and is still in the cache.
  static constexpr std::int64_t kStretch = 4096 / static_cast<std::int64_t>(sizeof(Key));

  Vector load(const Key* from) const { return order_(load_vector<Vector>(from)); }

  // By lanes; in four vectors, so that one step need not wait for the one before.
  Vector greatest_of(const Key* from, std::int64_t count) const {
    Vector best = load(from);
    std::int64_t i = kLanes;
    if (count >= 8 * kLanes) {
      Vector second = best, third = best, fourth = best;
      for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        best = greater(best, load(from + i));
        second = greater(second, load(from + i + kLanes));
        third = greater(third, load(from + i + 2 * kLanes));
        fourth = greater(fourth, load(from + i + 3 * kLanes));
      }
      best = greater(greater(best, second), greater(third, fourth));
    }
    for (; i + kLanes <= count; i += kLanes) best = greater(best, load(from + i));
    return i < count ? greater(best, load(from + count - kLanes)) : best;
  }

  // The first place of a key that is there.
  std::int64_t find(const Key* from, std::int64_t count, Vector wanted) const {
    for (std::int64_t i = 0;; i += kLanes) {
      i = std::min(i, count - kLanes);
      const std::uint64_t found = true_bytes(load(from + i) == wanted);
      if (found != 0) return i + std::countr_zero(found) / static_cast<int>(sizeof(Key));
    }
  }

  Order order_;
};

template <class Key, class Order>
std::int64_t find_one_by_one(const Key* row, std::int64_t count, const Order& order) {
  std::int64_t at = 0;
  Key best = key_at(order, row);
  for (std::int64_t i = 1; i < count; ++i) {
    const Key key = key_at(order, row + i);
    at = key > best ? i : at;
    best = std::max(best, key);
  }
  return at;
}

template <class Key, class Search>
void each_row(const ExtremumJob& job, std::int64_t begin, std::int64_t end, const Search& search) {
  const Key* input = reinterpret_cast<const Key*>(job.input);
  Key* values = reinterpret_cast<Key*>(job.values);
  for (std::int64_t row = begin; row < end; ++row) {
    const Key* from = input + row * job.count;
    const std::int64_t at = search(from, job.count);
    job.places[row] = at;
    if (values != nullptr) std::memcpy(values + row, from + at, sizeof(Key));
  }
}

template <class Key, class Order>
void rows(const ExtremumJob& job, std::int64_t begin, std::int64_t end, const Order& order) {
  const std::int64_t bytes = job.count * static_cast<std::int64_t>(sizeof(Key));
  if (bytes < 16)
    return each_row<Key>(job, begin, end, [&](const Key* row, std::int64_t count) {
      return find_one_by_one(row, count, order);
    });
  with_vectors_within(
      bytes, [&]<int kBytes>() { each_row<Key>(job, begin, end, RowSearch<Key, Order, kBytes>(order)); });
}

// ---- Columns ---------------------------------------------------------------------------------------------

// Neighbouring outputs side by side. Places are counted in the width of the keys, block by block: the rows of
// a block are no more than such a number counts.
template <class Key, class Order, int kBytes>
class ColumnSearch {
 public:
  ColumnSearch(const Order& order, std::int64_t stride, std::int64_t width)
      : order_(order), stride_(stride), width_(width) {}

  // Writes the places of the first extrema of `count` rows.
  void operator()(const Key* from, std::int64_t count, std::int64_t* places) {
    std::fill_n(greatest_, width_, kLeast);
    std::fill_n(places, width_, 0);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      search_block(from + first * stride_, std::min(kBlock, count - first));
      for (std::int64_t c = 0; c < width_; ++c) {
        const bool better = best_[c] > greatest_[c];
        places[c] = better ? first + static_cast<std::make_unsigned_t<Key>>(at_[c]) : places[c];
        greatest_[c] = better ? best_[c] : greatest_[c];
      }
    }
  }

 private:
  using Vector = typename KeyVector<Key, kBytes>::Type;
  static constexpr std::int64_t kLanes = KeyVector<Key, kBytes>::kLanes;
  static constexpr std::int64_t kTile = kExtremumTileBytes / static_cast<std::int64_t>(sizeof(Key));
  static constexpr std::int64_t kBlock = sizeof(Key) == 1 ? 256 : 32768;
  static constexpr Key kLeast = std::numeric_limits<Key>::min();

  void search_block(const Key* from, std::int64_t count) {
    std::fill_n(best_, width_, kLeast);
    std::fill_n(at_, width_, Key(0));
    std::int64_t r = 0;
    for (; r + 8 <= count; r += 8) take<8>(from + r * stride_, r);
    for (; r < count; ++r) take<1>(from + r * stride_, r);
  }

  // What is left after the last whole vector is taken with some before it: nothing is greater than itself.
  template <int kRows>
  void take(const Key* from, std::int64_t first) {
    for (std::int64_t i = 0; i < width_; i += kLanes) {
      const std::int64_t c = std::min(i, width_ - kLanes);
      Vector best = load_vector<Vector>(best_ + c), at = load_vector<Vector>(at_ + c);
#pragma GCC unroll 8
      for (int k = 0; k < kRows; ++k) {
        const Vector key = order_(load_vector<Vector>(from + k * stride_ + c));
        at = key > best ? Vector{} + static_cast<Key>(first + k) : at;
        best = greater(best, key);
      }
      std::memcpy(best_ + c, &best, sizeof best);
      std::memcpy(at_ + c, &at, sizeof at);
    }
  }

  Order order_;
  std::int64_t stride_, width_;
  Key greatest_[kTile], best_[kTile], at_[kTile];
};

template <class Key, class Order, int kBytes>
void each_column(const ExtremumJob& job, std::int64_t begin, std::int64_t end, const Order& order) {
  const Key* input = reinterpret_cast<const Key*>(job.input);
  Key* values = reinterpret_cast<Key*>(job.values);
  const std::int64_t tiles = extremum_tiles(job.inner, sizeof(Key));
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t tile = unit % tiles, outer = unit / tiles;
    const std::int64_t first = job.inner * tile / tiles, last = job.inner * (tile + 1) / tiles;
    const Key* from = input + outer * job.count * job.inner + first;
    std::int64_t* places = job.places + outer * job.inner + first;
    ColumnSearch<Key, Order, kBytes> search(order, job.inner, last - first);
    search(from, job.count, places);
    if (values == nullptr) continue;
    for (std::int64_t c = 0; c < last - first; ++c)
      std::memcpy(values + outer * job.inner + first + c, from + places[c] * job.inner + c, sizeof(Key));
  }
}

template <class Key, class Order>
void columns(const ExtremumJob& job, std::int64_t begin, std::int64_t end, const Order& order) {
  const std::int64_t width = job.inner / extremum_tiles(job.inner, sizeof(Key));
  with_vectors_within(width * static_cast<std::int64_t>(sizeof(Key)),
                      [&]<int kBytes>() { each_column<Key, Order, kBytes>(job, begin, end, order); });
}

// ---- Table -----------------------------------------------------------------------------------------------

template <class Key, class Order>
constexpr ExtremumKernel kKernel{
    [](const ExtremumJob& job, std::int64_t begin, std::int64_t end) {
      rows<Key>(job, begin, end, order_of<Order>(job.order));
    },
    [](const ExtremumJob& job, std::int64_t begin, std::int64_t end) {
      columns<Key>(job, begin, end, order_of<Order>(job.order));
    },
};
template <class Key>
constexpr ExtremumKernel kIntegers = kKernel<Key, IntegerOrder<Key>>;
template <class Key>
constexpr ExtremumKernel kFloats = kKernel<Key, FloatOrder<Key>>;

}  // namespace

const ExtremumKernels& extremum_kernels() {
  static constexpr ExtremumKernels kernels{
      {{kIntegers<std::int8_t>, kIntegers<std::int16_t>, kIntegers<std::int32_t>, kIntegers<std::int64_t>},
       {{}, kFloats<std::int16_t>, kFloats<std::int32_t>, kFloats<std::int64_t>}}};
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
