// Owns what kernels that order the elements of rows are given. For the host and for cards: no standard
// headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;

// Elements that a block of 256 threads orders in shared memory, by the bytes of a key.
constexpr int tile_elements(int key_bytes) { return key_bytes == 8 ? 2048 : 4096; }

// A key becomes a word: unsigned, as wide as the key, and less where the key comes earlier.
struct OrderJob {
  Count rows, length;  // keys lie as [rows, length], contiguous
  Count tiles;         // of a row
  const void* keys;
  unsigned long long infinity;  // its bits, where keys are floats: what is above it without the sign is nan
  unsigned long long flip;      // bits of a word that differ from those of the key in order
  int shift;                    // to the digit of this pass
  int bits;                     // of a word that decide
  long long* result;            // [rows, length]: where in its row each element of the order is
  const void* words;            // [rows, length] as the pass before left them, or none
  const unsigned* places;       // where in its row each of them is
  void* next_words;             // for the pass that follows, or none
  unsigned* next_places;
  unsigned* counts;  // [rows, digits, tiles]: of each digit in each tile, then in the tiles before it
  unsigned* totals;  // [rows, digits]: of each digit in the row
};

// Elements of rows by their places: [rows, length] to [rows, count].
struct TakeJob {
  Count rows, length, count;
  Count order_length;  // of a row of places, whose first ones are taken
  const void* source;  // contiguous
  const long long* order;
  void* result;
};

}  // namespace kiln::cuda
