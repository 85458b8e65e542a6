// Owns kernels of the stable order of rows by their keys. Short rows count for each element what comes before
// it. Other rows are ordered by one digit of the keys after the other, the lowest first: in shared memory
// where a row is one tile, else tile by tile, with a pass over memory for each digit. A digit's order is
// stable, so that the order by the digits before it remains.
#pragma once

#include "tensor/cuda/kernels/digit_ranks.cuh"
#include "tensor/cuda/kernels/sort_job.h"

namespace kiln::cuda {

// ---- Words ----

// What keys of a dtype are: unsigned integers of their bits, and whether these are floats. All nans are
// alike and come last; so are both zeros.
template <class Bits, bool kFloat>
struct Keys {
  using Word = Bits;
  static constexpr Word kSign = static_cast<Word>(Word(1) << (sizeof(Word) * 8 - 1));
  KILN_MATH bool is_nan(const OrderJob& job, Count place) {
    const auto magnitude = static_cast<Word>(element<Bits>(job.keys, place) & ~kSign);
    return kFloat && magnitude > static_cast<Word>(job.infinity);
  }
  KILN_MATH Word word_of(const OrderJob& job, Bits bits) {
    Word word = bits;
    if constexpr (kFloat) {
      const Word magnitude = static_cast<Word>(bits & ~kSign);
      const bool is_negative = magnitude != 0 && (bits & kSign) != 0;
      word = static_cast<Word>(is_negative ? ~bits : bits | kSign);
      if (magnitude > static_cast<Word>(job.infinity)) word = static_cast<Word>(~Word(0));
    }
    return static_cast<Word>(word ^ static_cast<Word>(job.flip));
  }
  KILN_MATH Word read(const OrderJob& job, Count place) {
    return word_of(job, element<Bits>(job.keys, place));
  }
};

// ---- Short rows: a thread for each element ----

template <class K>
KILN_MATH void order_by_counting(const OrderJob& job) {
  const Count count = job.rows * job.length;
  for (Count i = first_thread(); i < count; i += all_threads()) {
    const Count row = i / job.length * job.length, own = i - row;
    const typename K::Word word = K::read(job, i);
    Count before = 0;
    for (Count j = 0; j < job.length; ++j) {
      const typename K::Word other = K::read(job, row + j);
      before += other < word || (other == word && j < own) ? 1 : 0;
    }
    job.result[row + before] = own;
  }
}

// ---- Rows of one tile: a block has a row ----

template <class K>
KILN_MATH void order_in_tile(const OrderJob& job) {
  using Word = typename K::Word;
  constexpr int kItems = Tile<Word>::kItems;
  __shared__ Tile<Word> tile;
  const Items items = Items::of(static_cast<int>(job.length));
  for (Count row = blockIdx.x; row < job.rows; row += gridDim.x) {
    Word words[kItems];
    unsigned places[kItems], ranks[kItems];
    for (int shift = 0; shift < job.bits; shift += kDigitBits) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (k >= items.of_lane) break;
        const int place = items.place(k);
        if (place >= items.count) continue;
        words[k] = shift == 0 ? K::read(job, row * job.length + place) : tile.words[place];
        places[k] = shift == 0 ? place : tile.places[place];
      }
      rank_by_digit(tile, items, words, shift, ranks);
      put_in_tile(tile, items, words, places, ranks);
    }
    for (int i = threadIdx.x; i < items.count; i += kThreads)
      job.result[row * job.length + i] = tile.places[i];
    __syncthreads();
  }
}

// ---- Rows of many tiles: a pass for each digit ----

// Which elements of which row a block has.
template <class Word>
struct TileOfRow {
  Count row, tile, first;
  int count;
  KILN_MATH TileOfRow of(const OrderJob& job, Count unit) {
    constexpr int kElements = Tile<Word>::kElements;
    const Count row = unit / job.tiles, tile = unit - row * job.tiles, first = tile * kElements;
    const Count rest = job.length - first;
    return {row, tile, first, static_cast<int>(rest < kElements ? rest : kElements)};
  }
};

template <class K>
KILN_MATH typename K::Word word_at(const OrderJob& job, Count place) {
  return job.words == nullptr ? K::read(job, place) : element<typename K::Word>(job.words, place);
}

template <class K>
KILN_MATH void count_digits(const OrderJob& job) {
  __shared__ unsigned counts[kDigits];
  const Count units = job.rows * job.tiles;
  for (Count unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const auto at = TileOfRow<typename K::Word>::of(job, unit);
    counts[threadIdx.x] = 0;
    __syncthreads();
    const Count first = at.row * job.length + at.first;
    for (int i = threadIdx.x; i < at.count; i += kThreads)
      atomicAdd(&counts[digit_of(word_at<K>(job, first + i), job.shift)], 1U);
    __syncthreads();
    job.counts[(at.row * kDigits + threadIdx.x) * job.tiles + at.tile] = counts[threadIdx.x];
    __syncthreads();
  }
}

// A warp has a digit of a row: its counts become those of the tiles before.
KILN_MATH void sum_counts(const OrderJob& job) {
  const int lane = threadIdx.x % kLanes;
  const Count units = job.rows * kDigits, warps = all_threads() / kLanes;
  for (Count unit = first_thread() / kLanes; unit < units; unit += warps) {
    unsigned before = 0;
    for (Count first = 0; first < job.tiles; first += kLanes) {
      const Count tile = first + lane;
      unsigned* const count = job.counts + unit * job.tiles + tile;
      const unsigned mine = tile < job.tiles ? *count : 0;
      const unsigned sum = sum_to_lane(mine);
      if (tile < job.tiles) *count = before + sum - mine;
      before += __shfl_sync(kAllLanes, sum, kLanes - 1);
    }
    if (lane == 0) job.totals[unit] = before;
  }
}

// Elements go through shared memory, so that those of a digit are written next to each other.
template <class K>
KILN_MATH void place_by_digit(const OrderJob& job) {
  using Word = typename K::Word;
  constexpr int kItems = Tile<Word>::kItems;
  __shared__ Tile<Word> tile;
  const Count units = job.rows * job.tiles;
  const int thread = threadIdx.x;
  for (Count unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const auto at = TileOfRow<Word>::of(job, unit);
    const Items items = Items::of(at.count);
    const Count row = at.row * job.length;
    Word words[kItems];
    unsigned places[kItems], ranks[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (k >= items.of_lane) break;
      if (items.place(k) >= items.count) continue;
      const Count place = at.first + items.place(k);
      words[k] = word_at<K>(job, row + place);
      places[k] = job.words == nullptr ? static_cast<unsigned>(place) : job.places[row + place];
    }
    rank_by_digit(tile, items, words, job.shift, ranks);
    put_in_tile(tile, items, words, places, ranks);
    const Count digit = at.row * kDigits + thread;
    const unsigned start = sum_before(job.totals[digit], tile.sums);
    tile.offsets[thread] = start + job.counts[digit * job.tiles + at.tile] - tile.starts[thread];
    __syncthreads();
    for (int i = thread; i < items.count; i += kThreads) {
      const Word word = tile.words[i];
      const unsigned along = tile.offsets[digit_of(word, job.shift)] + static_cast<unsigned>(i);
      const Count to = row + along;
      if (job.next_words == nullptr) {
        job.result[to] = tile.places[i];
      } else {
        put(job.next_words, to, word);
        job.next_places[to] = tile.places[i];
      }
    }
    __syncthreads();
  }
}

// ---- Elements by their places ----

template <class Bits>
KILN_MATH void take_of_rows(const TakeJob& job) {
  const Count elements = job.rows * job.count;
  for (Count i = first_thread(); i < elements; i += all_threads()) {
    const Count row = i / job.count, along = i - row * job.count;
    const Count place = job.order[row * job.order_length + along];
    put(job.result, i, element<Bits>(job.source, row * job.length + place));
  }
}

}  // namespace kiln::cuda
