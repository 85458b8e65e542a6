// Owns sorting entries by an unsigned key: digit by digit, from the lowest, in chunks that threads share.
// Stable, and the same on any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

template <class Key>
struct Entry {
  Key key;
  std::uint32_t index;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

template <class Key>
class RadixSort {
 public:
  RadixSort(Entry<Key>* entries, Entry<Key>* scratch, std::int64_t count)
      : from_(entries),
        to_(scratch),
        count_(count),
        chunks_(ceil_divide(count, kChunk)),
        starts_(static_cast<std::size_t>(chunks_)) {}

  // Where the sorted entries lie: in `entries` or in `scratch`.
  Entry<Key>* operator()() {
    const Key varying = varying_bits();
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += 8) {
      if (((varying >> shift) & 255) == 0) continue;
      find_starts(shift);
      move(shift);
      std::swap(from_, to_);
    }
    return from_;
  }

 private:
  static constexpr std::int64_t kChunk = 1 << 16;
  using Starts = std::array<std::uint32_t, 256>;

  template <class F>
  void each_chunk(const F& f) const {
    parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk)
        f(static_cast<std::size_t>(chunk), chunk * kChunk, std::min((chunk + 1) * kChunk, count_));
    });
  }

  // The bits in which not all keys are alike.
  Key varying_bits() const {
    std::vector<Key> found(static_cast<std::size_t>(chunks_));
    each_chunk([&](std::size_t chunk, std::int64_t first, std::int64_t last) {
      Key bits = 0;
      for (std::int64_t i = first; i < last; ++i) bits |= from_[i].key ^ from_[0].key;
      found[chunk] = bits;
    });
    Key all = 0;
    for (const Key bits : found) all |= bits;
    return all;
  }

  // Where the entries of each chunk with each digit go: digit by digit, chunk by chunk.
  void find_starts(int shift) {
    each_chunk([&](std::size_t chunk, std::int64_t first, std::int64_t last) {
      Starts& counts = starts_[chunk];
      counts.fill(0);
      for (std::int64_t i = first; i < last; ++i) ++counts[(from_[i].key >> shift) & 255];
    });
    std::uint32_t before = 0;
    for (std::size_t digit = 0; digit < 256; ++digit)
      for (Starts& starts : starts_) before += std::exchange(starts[digit], before);
  }

  void move(int shift) {
    each_chunk([&](std::size_t chunk, std::int64_t first, std::int64_t last) {
      Starts next = starts_[chunk];
      for (std::int64_t i = first; i < last; ++i) to_[next[(from_[i].key >> shift) & 255]++] = from_[i];
    });
  }

  Entry<Key>* from_;
  Entry<Key>* to_;
  std::int64_t count_, chunks_;
  std::vector<Starts> starts_;  // by chunk
};

}  // namespace kiln::cpu
