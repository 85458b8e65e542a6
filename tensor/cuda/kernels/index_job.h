// Owns what kernels are given that find elements by indices. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

inline constexpr int kMostIndices = 4;  // of a launch
// Which element of a loop an index was refused at, and which index: the lower bits have the element.
inline constexpr int kRefusedElementBits = 36;

// Integers that say where to go along one dimension of a tensor.
struct IndexJob {
  const void* values;
  Count least, size;  // values are from `least` to below `size`; those below 0 count from the end
  Count step;         // from the place of one value to that of the next
};

// A loop of which every element has a place in a tensor.
template <int kIndices>
struct PlacesJob {
  Count count;
  Axes<kIndices + 1> axes;  // of the tensor, then of each index
  IndexJob indices[kIndices];
  // What an index is told by that is out of range, and a word on the card that is set, or null.
  unsigned long long* fault;
  unsigned long long launch;
  unsigned* refused;
};

template <int kIndices>
struct GatherJob {
  PlacesJob<kIndices> places;
  const void* source;
  void* result;  // contiguous
};

template <int kIndices>
struct TargetsJob {
  PlacesJob<kIndices> places;
  Count first;  // is added to all places
  Count* targets;
};

}  // namespace kiln::cuda
