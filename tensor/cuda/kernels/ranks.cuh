// Owns the kernels of collectives: a thread reduces the values that all ranks have of an element, in the
// order of dist/algorithms/reduce.h.
#pragma once

#include "tensor/cuda/kernels/rank_job.h"
#include "tensor/cuda/kernels/walk.cuh"
#include "tensor/rank_values.h"

namespace kiln::cuda {

// The tree T(0, n) from its first leaf to its last. Subtrees that are complete wait in `left`, the larger
// ones first; two of one size become one of the next, as digits carry when a number is counted up. Those that
// are left in the end are joined from the last on.
template <class T, class Op>
KILN_MATH T reduced_over_ranks(const RankReduceJob& job, Count i) {
  using W = decltype(ranks::read(T{}));
  constexpr int kMostSubtrees = 32;
  const T* const own = static_cast<const T*>(job.own);
  const T* const others = static_cast<const T*>(job.others);
  W left[kMostSubtrees];
  int waiting = 0;
  for (int rank = 0; rank < job.ranks; ++rank) {
    W value = ranks::read(rank == job.me ? own[i] : others[rank * job.count + i]);
    for (int carry = rank; (carry & 1) != 0; carry >>= 1) value = Op::apply(left[--waiting], value);
    left[waiting++] = value;
  }
  W value = left[--waiting];
  while (waiting > 0) value = Op::apply(left[--waiting], value);
  return scalar::convert<T>(value);
}

template <class T, class Op>
KILN_MATH void reduce_over_ranks(const RankReduceJob& job) {
  T* const output = static_cast<T*>(job.output);
  for (Count i = first_thread(); i < job.count; i += all_threads())
    output[i] = reduced_over_ranks<T, Op>(job, i);
}

template <class From, class To>
KILN_MATH void scale_for_ranks(const RankScaleJob& job) {
  const From* const input = static_cast<const From*>(job.input);
  To* const output = static_cast<To*>(job.output);
  for (Count i = first_thread(); i < job.count; i += all_threads())
    output[i] = ranks::scaled<To>(input[i], job.factor);
}

// Elements are words of their size.
template <class Word>
KILN_MATH void fill_for_ranks(const RankFillJob& job) {
  Word* const output = static_cast<Word*>(job.output);
  for (Count i = first_thread(); i < job.count; i += all_threads()) output[i] = static_cast<Word>(job.bits);
}

}  // namespace kiln::cuda
