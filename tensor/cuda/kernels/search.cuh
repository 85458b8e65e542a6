// Owns the kernel that finds in sorted rows where values would have to go.
#pragma once

#include "tensor/cuda/kernels/search_job.h"
#include "tensor/cuda/kernels/sort.cuh"

namespace kiln::cuda {

// Halves what is left as the CPU does, so that rows out of order give the same places. `kAfterEquals`: a
// value goes behind the elements that are equal to it.
template <class K, class Out, bool kAfterEquals>
KILN_MATH void search_rows(const SearchJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    const typename K::Word wanted = K::read(job.values, i);
    const Count row = i / job.per_row * job.sequence.length;
    Count first = 0, left = job.sequence.length;
    while (left > 0) {
      const Count half = left / 2;
      const typename K::Word middle = K::read(job.sequence, row + first + half);
      const bool goes_behind = kAfterEquals ? middle <= wanted : middle < wanted;
      first = goes_behind ? first + half + 1 : first;
      left = goes_behind ? left - half - 1 : half;
    }
    put(job.result, i, static_cast<Out>(first));
  }
}

}  // namespace kiln::cuda
