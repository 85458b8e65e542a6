// Owns kernels of Fisher and Yates' shuffle, with the swaps of the CPU. In each round the steps that are left
// claim their two places, and those go on that no earlier step shares a place with ("Sequential random
// permutation, list contraction and tree contraction are highly parallel", Shun et al., SODA 2015). About a
// quarter of the steps goes on in a round, and the first one always does.
#pragma once

#include "tensor/cuda/kernels/draws.cuh"
#include "tensor/cuda/kernels/shuffle_job.h"

namespace kiln::cuda {

inline constexpr int kThreads = 256;  // of a block

KILN_MATH void begin_shuffle(const ShuffleJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    job.items[i] = i;
    job.claims[i] = 0;
    if (i > 0) job.steps[i - 1] = i;
  }
  for (Count round = first_thread(); round <= job.rounds; round += all_threads())
    job.left[round] = round == 0 ? job.count - 1 : 0;
}

// What the step swaps with: the words of the draw are for the steps in their order.
KILN_MATH Count drawn_place(const ShuffleJob& job, Count step) {
  const PhiloxPair word = wide_word(job.draw, job.count - 1 - step);
  return static_cast<Count>(__umul64hi(word, static_cast<unsigned long long>(step) + 1));
}

KILN_MATH unsigned long long claim_of(Count round, Count step) {
  return static_cast<unsigned long long>(round) << kStepBits | static_cast<unsigned long long>(step);
}

KILN_MATH void claim_places(const ShuffleJob& job, Count round, Count step) {
  atomicMax(&job.claims[step], claim_of(round, step));
  atomicMax(&job.claims[drawn_place(job, step)], claim_of(round, step));
}

// Claims may have been made by this launch, past the first cache.
KILN_MATH bool swap_where_claimed(const ShuffleJob& job, Count round, Count step) {
  const Count other = drawn_place(job, step);
  const unsigned long long mine = claim_of(round, step);
  if (__ldcg(&job.claims[step]) != mine || __ldcg(&job.claims[other]) != mine) return false;
  const Count item = job.items[step];
  job.items[step] = job.items[other];
  job.items[other] = item;
  return true;
}

// ---- Rounds of all blocks ----

KILN_MATH void claim_in_round(const ShuffleJob& job) {
  const auto left = static_cast<Count>(job.left[job.round - 1]);
  for (Count i = first_thread(); i < left; i += all_threads()) claim_places(job, job.round, job.steps[i]);
}

KILN_MATH void swap_in_round(const ShuffleJob& job) {
  const auto left = static_cast<Count>(job.left[job.round - 1]);
  for (Count i = first_thread(); i < left; i += all_threads()) {
    const Count step = job.steps[i];
    if (!swap_where_claimed(job, job.round, step))
      job.next_steps[atomicAdd(&job.left[job.round], 1ULL)] = step;
  }
}

// ---- The rest: rounds of one block ----

KILN_MATH void shuffle_rest(const ShuffleJob& job) {
  __shared__ unsigned next_left;
  Count *steps = job.steps, *next_steps = job.next_steps;
  auto left = static_cast<Count>(job.left[job.rounds]);
  for (Count round = job.rounds + 1; left > 0; ++round) {
    for (Count i = threadIdx.x; i < left; i += kThreads) claim_places(job, round, steps[i]);
    if (threadIdx.x == 0) next_left = 0;
    __syncthreads();
    for (Count i = threadIdx.x; i < left; i += kThreads) {
      const Count step = steps[i];
      if (!swap_where_claimed(job, round, step)) next_steps[atomicAdd(&next_left, 1U)] = step;
    }
    __syncthreads();
    left = next_left;
    __syncthreads();
    Count* const done = steps;
    steps = next_steps;
    next_steps = done;
  }
}

}  // namespace kiln::cuda
