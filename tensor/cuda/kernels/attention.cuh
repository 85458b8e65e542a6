// Owns attention as one kernel (FlashAttention-2, Dao 2023): a block of threads has some queries, goes
// through the keys by tiles in shared memory, and keeps for each query the greatest score so far, the sum of
// exponentials and the sum of values. No score is in memory.
#pragma once

#include "tensor/cuda/kernels/attention_tiles.cuh"
#include "tensor/math/log.h"

namespace kiln::cuda {

// What a lane knows of its queries. Exponents are of 2.
template <class F>
struct Softmax {
  using Sum = typename F::Sum;
  static constexpr int kRows = F::Engine::kRows;
  Sum most[kRows], total[kRows];  // the greatest score of each query; this lane's part of its sum

  __device__ __forceinline__ Softmax() {
    for (int i = 0; i < kRows; ++i) most[i] = -math::Format<Sum>::kInf, total[i] = 0;
  }

  // Scores become weights, and the sums so far are brought to the greatest score.
  template <int kScores, int kSums>
  __device__ __forceinline__ void add(Sum (&scores)[kRows][kScores], Sum (&sums)[kRows][kSums]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      Sum top = most[i];
#pragma unroll
      for (int j = 0; j < kScores; ++j) top = scores[i][j] > top ? scores[i][j] : top;
      top = over_row<F>(top, [](Sum a, Sum b) { return a > b ? a : b; });
      const Sum base = top == -math::Format<Sum>::kInf ? Sum(0) : top;  // nothing was seen
      const Sum kept = power(most[i] - base);
      most[i] = top;
      total[i] *= kept;
#pragma unroll
      for (int j = 0; j < kScores; ++j) total[i] += scores[i][j] = power(scores[i][j] - base);
#pragma unroll
      for (int j = 0; j < kSums; ++j) sums[i][j] *= kept;
    }
  }
};

template <class F>
KILN_MATH void attend(const AttentionJob& job) {
  using Sum = typename F::Sum;
  using Element = typename F::Element;
  using Engine = typename F::Engine;
  const Memory<F> memory(shared_memory<typename F::Stored>(), 1);
  const int first = threadIdx.x / kLanes * kWarpRows;
  const Count blocks = (job.queries + F::kTile - 1) / F::kTile;
  for (Count unit = blockIdx.x; unit < job.apart * job.alike * blocks; unit += gridDim.x) {
    const Places at(job, unit / blocks / job.alike, unit / blocks % job.alike);
    // Of causal attention the last queries see most keys: they begin first.
    const Count query = (blocks - 1 - unit % blocks) * F::kTile;
    const Count end = F::kCausal && query + F::kTile < job.keys ? query + F::kTile : job.keys;
    // Tiles of keys and values pass by turns: one is read while scores are computed from the other.
    const auto begin_keys = [&](Count key) {
      if (key < end) fill_from<F, F::kColumns, kKeys>(memory.next_features, job, at, key);
      end_group();
    };
    fill_from<F, F::kTile, kQueries>(memory.features, job, at, query);
    begin_keys(0);
    Sum sums[Engine::kRows][F::kWidths / Engine::kSharing] = {};
    Softmax<F> softmax;
    for (Count key = 0; key < end; key += F::kColumns) {
      const bool is_seen = !F::kCausal || key < query + first + kWarpRows;
      Sum scores[Engine::kRows][F::kColumns / Engine::kSharing] = {};
      wait_for_groups<0>();  // the keys
      __syncthreads();
      fill_from<F, F::kColumns, kValues>(memory.next_widths, job, at, key);
      end_group();
      if (is_seen)
        Engine::template multiply<F::kFeatures, F::kColumns>(memory.features_of(first), memory.next_features,
                                                             scores);
      __syncthreads();
      begin_keys(key + F::kColumns);
      if (is_seen) {
        see<F, false>(job, at, query + first, key, scores);
        softmax.add(scores, sums);
      }
      wait_for_groups<1>();  // the values; the next keys may go on
      __syncthreads();
      if (is_seen)
        Engine::template add<F::kColumns, F::kWidths>(scores, memory.stage_of(first), memory.next_widths,
                                                      sums);
    }
    Sum scales[Engine::kRows];
    for (int i = 0; i < Engine::kRows; ++i) {
      const Sum total = over_row<F>(softmax.total[i], [](Sum a, Sum b) { return a + b; });
      const Count row = query + first + Engine::row(i);
      scales[i] = total == 0 ? Sum(0) : 1 / total;
      if (row < job.queries && lane() % Engine::kSharing == 0)
        put<Sum>(job.logsumexp, at.result * job.queries + row,
                 total == 0 ? math::Format<Sum>::kInf
                            : softmax.most[i] * Sum(0x1.62e42fefa39efp-1) + math::log(total));
    }
    store<F, Element, F::kWidths>(job.result, at.result * job.queries, query + first, job.queries, job.widths,
                                  sums, scales);
  }
}

}  // namespace kiln::cuda
