// Owns kernels that find elements by indices: gathers, and the places that scatters go to. Elements are moved
// as words of their size, or of that of several neighbours.
#pragma once

#include "tensor/cuda/kernels/index_job.h"
#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

// Where an element of the loop has its place; -1 where an index is out of range.
template <class Index, int kIndices>
KILN_MATH Count indexed_place(const PlacesJob<kIndices>& job, Count i) {
  Count at[kIndices + 1];
  places_at(job.axes, job.count, i, at);
  Count place = at[0];
  bool is_refused = false;
  for (int k = 0; k < kIndices; ++k) {
    const IndexJob& index = job.indices[k];
    const Count value = element<Index>(index.values, at[k + 1]);
    if (value < index.least || value >= index.size) {
      is_refused = true;
      atomicMin_system(job.fault, job.launch << 40 |
                                      static_cast<unsigned long long>(k) << kRefusedElementBits |
                                      static_cast<unsigned long long>(i));
      if (job.refused != nullptr) atomicExch(job.refused, 1U);
    }
    place += (value < 0 ? value + index.size : value) * index.step;
  }
  return is_refused ? -1 : place;
}

template <class Word, class Index, int kIndices>
KILN_MATH void gather(const GatherJob<kIndices>& job) {
  for (Count i = first_thread(); i < job.places.count; i += all_threads()) {
    const Count place = indexed_place<Index>(job.places, i);
    put<Word>(job.result, i, place < 0 ? Word{} : element<Word>(job.source, place));
  }
}

// Where an index is out of range, nothing is written, and any place will do.
template <class Index, int kIndices>
KILN_MATH void find_targets(const TargetsJob<kIndices>& job) {
  for (Count i = first_thread(); i < job.places.count; i += all_threads()) {
    const Count place = indexed_place<Index>(job.places, i);
    job.targets[i] = place < 0 ? 0 : job.first + place;
  }
}

}  // namespace kiln::cuda
