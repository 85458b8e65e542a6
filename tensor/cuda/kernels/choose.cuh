// Owns kernels that draw classes by their weights, as the CPU does: from running totals where a class can
// come again, else from a tree of sums, which each class that was drawn is taken out of.
#pragma once

#include "tensor/cuda/kernels/block_sum.cuh"
#include "tensor/cuda/kernels/choose_job.h"
#include "tensor/cuda/kernels/draws.cuh"

namespace kiln::cuda {

KILN_MATH void refuse_weights(const DrawJob& draw) { atomicMin_system(draw.fault, draw.launch << 40); }

KILN_MATH bool is_weight(double weight) { return weight >= 0 && weight != math::Format<double>::kInf; }

// ---- With replacement ----

// A block has a row. Weights are added one after the other, as rounding depends on that; memory is read and
// written by all threads.
KILN_MATH void total_weights(const ChooseJob& job) {
  constexpr int kPiece = 2048;
  __shared__ double piece[kPiece];
  __shared__ Count lasts[kThreads];
  for (Count row = blockIdx.x; row < job.rows; row += gridDim.x) {
    const Count start = row * job.classes;
    double total = 0;
    Count last = 0;
    for (Count first = 0; first < job.classes; first += kPiece) {
      const int count = static_cast<int>(job.classes - first < kPiece ? job.classes - first : kPiece);
      for (int i = threadIdx.x; i < count; i += kThreads) {
        const double weight = job.weights[start + first + i];
        if (!is_weight(weight)) refuse_weights(job.draw);
        if (weight != 0) last = first + i;
        piece[i] = weight;
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int i = 0; i < count; ++i) {
          total += piece[i];
          piece[i] = total;
        }
      }
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += kThreads) job.totals[start + first + i] = piece[i];
      __syncthreads();
    }
    lasts[threadIdx.x] = last;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < kThreads; ++i) last = lasts[i] > last ? lasts[i] : last;
      job.last[row] = last;
      if (!(total > 0)) refuse_weights(job.draw);
    }
    __syncthreads();
  }
}

// The first class whose running total is above a place. Where rounding makes the place the total itself, it
// is the last one with a weight that was meant.
KILN_MATH void choose_from_totals(const ChooseJob& job) {
  for (Count i = first_thread(); i < job.rows * job.samples; i += all_threads()) {
    const Count row = i / job.samples;
    const double* const totals = job.totals + row * job.classes;
    const double place = unit_double(wide_word(job.draw, i)) * totals[job.classes - 1];
    Count first = 0, left = job.classes;
    while (left > 0) {
      const Count half = left / 2;
      const bool is_above = place < totals[first + half];
      first = is_above ? first : first + half + 1;
      left = is_above ? half : left - half - 1;
    }
    job.result[i] = first < job.last[row] ? first : job.last[row];
  }
}

// ---- Without replacement ----

// Node i of a tree has children 2 i and 2 i + 1. Gives how many classes of the row have a weight, to the last
// thread of its block.
KILN_MATH unsigned build_tree(const ChooseJob& job, Count row, double* sums) {
  __shared__ unsigned counts[kWarps];
  unsigned positive = 0;
  for (Count i = threadIdx.x; i < job.leaves; i += kThreads) {
    const double weight = i < job.classes ? job.weights[row * job.classes + i] : 0;
    if (!is_weight(weight)) refuse_weights(job.draw);
    positive += weight > 0 ? 1 : 0;
    sums[job.leaves + i] = weight;
  }
  __syncthreads();
  for (Count level = job.leaves / 2; level > 0; level /= 2) {
    for (Count i = level + threadIdx.x; i < 2 * level; i += kThreads) sums[i] = sums[2 * i] + sums[2 * i + 1];
    __syncthreads();
  }
  return sum_before(positive, counts) + positive;
}

// The class in whose share of the total a place is; takes it out.
KILN_MATH Count take_class(double* sums, Count leaves, double place) {
  Count node = 1;
  while (node < leaves) {
    node *= 2;
    if (sums[node + 1] == 0 || (place < sums[node] && sums[node] != 0)) continue;
    place -= sums[node];
    ++node;
  }
  const Count taken = node - leaves;
  sums[node] = 0;
  for (node /= 2; node > 0; node /= 2) sums[node] = sums[2 * node] + sums[2 * node + 1];
  return taken;
}

// A block has a row; one of its threads draws, as each draw depends on those before.
KILN_MATH void choose_and_take_out(const ChooseJob& job) {
  for (Count row = blockIdx.x; row < job.rows; row += gridDim.x) {
    double* const sums = job.sums + row * 2 * job.leaves;
    const unsigned positive = build_tree(job, row, sums);
    if (threadIdx.x == kThreads - 1) {
      if (!(sums[1] > 0) || positive < job.samples) refuse_weights(job.draw);
      for (Count i = row * job.samples; i < (row + 1) * job.samples; ++i)
        job.result[i] = take_class(sums, job.leaves, unit_double(wide_word(job.draw, i)) * sums[1]);
    }
    __syncthreads();
  }
}

}  // namespace kiln::cuda
