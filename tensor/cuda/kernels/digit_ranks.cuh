// Owns where the elements of a tile go by one digit of their words, those with equal digits in their order.
#pragma once

#include "tensor/cuda/kernels/block_sum.cuh"
#include "tensor/cuda/kernels/sort_job.h"

namespace kiln::cuda {

static_assert(kThreads == kDigits, "a thread has a digit");

template <class Word>
KILN_MATH unsigned digit_of(Word word, int shift) {
  return static_cast<unsigned>(word >> shift) & (kDigits - 1);
}

template <class Word>
struct Tile {
  static constexpr int kElements = tile_elements(sizeof(Word));
  static constexpr int kItems = kElements / kThreads;  // of a thread
  unsigned counters[kWarps][kDigits];
  unsigned starts[kDigits];  // where in the tile each digit begins
  unsigned offsets[kDigits];
  unsigned sums[kWarps];
  Word words[kElements];
  unsigned places[kElements];
};

// Items of a thread: its warp has elements of the tile that follow one another, 32 of them at a time.
struct Items {
  int count;    // elements of the tile
  int of_lane;  // items of a thread
  KILN_MATH Items of(int count) { return {count, (count + kThreads - 1) / kThreads}; }
  __device__ __forceinline__ int place(int item) const {
    const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
    return (warp * of_lane + item) * kLanes + lane;
  }
};

// Where in the tile each item goes by one digit.
template <class Word>
KILN_MATH void rank_by_digit(Tile<Word>& tile, const Items& items, const Word (&words)[Tile<Word>::kItems],
                             int shift, unsigned (&ranks)[Tile<Word>::kItems]) {
  constexpr int kItems = Tile<Word>::kItems;
  const int thread = threadIdx.x, lane = thread % kLanes;
  unsigned(&counters)[kDigits] = tile.counters[thread / kLanes];
  for (int digit = lane; digit < kDigits; digit += kLanes) counters[digit] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items.of_lane) break;
    const bool is_there = items.place(k) < items.count;
    const unsigned digit = is_there ? digit_of(words[k], shift) : kDigits;
    const unsigned alike = __match_any_sync(kAllLanes, digit);
    const unsigned before = __popc(alike & ((1U << lane) - 1));
    ranks[k] = is_there ? counters[digit] + before : 0;
    __syncwarp();
    if (is_there && before == 0) counters[digit] += __popc(alike);
    __syncwarp();
  }
  __syncthreads();
  unsigned total = 0;
  for (int warp = 0; warp < kWarps; ++warp) {
    const unsigned mine = tile.counters[warp][thread];
    tile.counters[warp][thread] = total;
    total += mine;
  }
  tile.starts[thread] = sum_before(total, tile.sums);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items.of_lane) break;
    if (items.place(k) >= items.count) continue;
    const unsigned digit = digit_of(words[k], shift);
    ranks[k] += tile.starts[digit] + counters[digit];
  }
}

// Puts the items into the tile where they go.
template <class Word>
KILN_MATH void put_in_tile(Tile<Word>& tile, const Items& items, const Word (&words)[Tile<Word>::kItems],
                           const unsigned (&places)[Tile<Word>::kItems],
                           const unsigned (&ranks)[Tile<Word>::kItems]) {
#pragma unroll
  for (int k = 0; k < Tile<Word>::kItems; ++k) {
    if (k >= items.of_lane) break;
    if (items.place(k) >= items.count) continue;
    tile.words[ranks[k]] = words[k];
    tile.places[ranks[k]] = places[k];
  }
  __syncthreads();
}

}  // namespace kiln::cuda
