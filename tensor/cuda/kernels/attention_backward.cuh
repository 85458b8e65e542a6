// Owns the derivative of attention: one kernel has some queries and goes through the keys, for the gradient
// of the query; another has some keys and goes through the queries, for those of key and value. Weights are
// computed again from the logarithms of their sums. Every sum has one order, and nothing is added by atomics.
#pragma once

#include "tensor/cuda/kernels/attention_tiles.cuh"

namespace kiln::cuda {

// What scores need of their query: the logarithm of its sum to the base 2, and delta. Beyond the last query
// the weights are 0.
template <class Sum>
KILN_MATH Sum logarithm_of(const AttentionJob& job, const Places& at, Count query) {
  if (query >= job.queries) return math::Format<Sum>::kInf;
  return element<Sum>(job.logarithms, at.result * job.queries + query) * Sum(0x1.71547652b82fep+0);
}
template <class Sum>
KILN_MATH Sum delta_of(const AttentionJob& job, const Places& at, Count query) {
  return query < job.queries ? element<Sum>(job.delta, at.result * job.queries + query) : Sum(0);
}

// Scores become weights. `logarithms`: of the rows' queries, or of the columns' where rows are keys.
template <class F, bool kByKeys, int kCount>
KILN_MATH void weigh(typename F::Sum (&scores)[F::Engine::kRows][kCount],
                     const typename F::Sum (&logarithms)[kByKeys ? kCount : F::Engine::kRows]) {
#pragma unroll
  for (int i = 0; i < F::Engine::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) scores[i][j] = power(scores[i][j] - logarithms[kByKeys ? j : i]);
  }
}
// Gradients of weights become those of scores.
template <class F, bool kByKeys, int kCount>
KILN_MATH void differentiate(typename F::Sum (&grads)[F::Engine::kRows][kCount],
                             const typename F::Sum (&weights)[F::Engine::kRows][kCount],
                             const typename F::Sum (&deltas)[kByKeys ? kCount : F::Engine::kRows]) {
#pragma unroll
  for (int i = 0; i < F::Engine::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) grads[i][j] = weights[i][j] * (grads[i][j] - deltas[kByKeys ? j : i]);
  }
}

template <class Sum, int kCount>
KILN_MATH void fill_with(Sum (&all)[kCount], Sum value) {
  for (int i = 0; i < kCount; ++i) all[i] = value;
}

// `Out`: what the gradient is stored as.
template <class F, class Out>
KILN_MATH void attend_by_query(const AttentionJob& job) {
  using Sum = typename F::Sum;
  using Engine = typename F::Engine;
  constexpr int kScores = F::kColumns / Engine::kSharing;
  const Memory<F> memory(shared_memory<typename F::Stored>(), 2);
  const int first = threadIdx.x / kLanes * kWarpRows;
  const Count blocks = (job.queries + F::kTile - 1) / F::kTile;
  for (Count unit = blockIdx.x; unit < job.apart * job.alike * blocks; unit += gridDim.x) {
    const Places at(job, unit / blocks / job.alike, unit / blocks % job.alike);
    const Count query = (blocks - 1 - unit % blocks) * F::kTile;
    const Count end = F::kCausal && query + F::kTile < job.keys ? query + F::kTile : job.keys;
    const auto begin_keys = [&](Count key) {
      if (key < end) fill_from<F, F::kColumns, kKeys>(memory.next_features, job, at, key);
      end_group();
    };
    const auto begin_values = [&](Count key) {
      if (key < end) fill_from<F, F::kColumns, kValues>(memory.next_widths, job, at, key);
      end_group();
    };
    fill_from<F, F::kTile, kQueries>(memory.features, job, at, query);
    fill_from<F, F::kTile, kGrads>(memory.widths, job, at, query);
    begin_keys(0);
    begin_values(0);
    Sum logarithms[Engine::kRows], deltas[Engine::kRows];
    for (int i = 0; i < Engine::kRows; ++i) {
      logarithms[i] = logarithm_of<Sum>(job, at, query + first + Engine::row(i));
      deltas[i] = delta_of<Sum>(job, at, query + first + Engine::row(i));
    }
    Sum sums[Engine::kRows][F::kFeatures / Engine::kSharing] = {};
    for (Count key = 0; key < end; key += F::kColumns) {
      const bool is_seen = !F::kCausal || key < query + first + kWarpRows;
      Sum scores[Engine::kRows][kScores] = {}, grads[Engine::kRows][kScores] = {};
      wait_for_groups<0>();
      __syncthreads();
      if (is_seen) {
        Engine::template multiply<F::kFeatures, F::kColumns>(memory.features_of(first), memory.next_features,
                                                             scores);
        see<F, false>(job, at, query + first, key, scores);
        Engine::template multiply<F::kWidths, F::kColumns>(memory.widths_of(first), memory.next_widths,
                                                           grads);
      }
      __syncthreads();
      begin_values(key + F::kColumns);
      if (is_seen) {
        weigh<F, false>(scores, logarithms);
        differentiate<F, false>(grads, scores, deltas);
        Engine::template add<F::kColumns, F::kFeatures>(grads, memory.stage_of(first), memory.next_features,
                                                        sums);
      }
      __syncthreads();
      begin_keys(key + F::kColumns);
    }
    Sum scales[Engine::kRows];
    fill_with(scales, static_cast<Sum>(job.scale));
    store<F, Out, F::kFeatures>(job.by_query, at.result * job.queries, query + first, job.queries,
                                job.features, sums, scales);
  }
}

// The sums of the gradients that are asked for.
template <class F, bool kKey, bool kValue>
struct SumsByKeys {
  using Engine = typename F::Engine;
  typename F::Sum key[Engine::kRows][kKey ? F::kFeatures / Engine::kSharing : 1] = {};
  typename F::Sum value[Engine::kRows][kValue ? F::kWidths / Engine::kSharing : 1] = {};

  // Adds a tile of queries that are in shared memory to the sums of the warp's rows.
  __device__ __forceinline__ void add(const AttentionJob& job, const Memory<F>& memory, const Places& at,
                                      Count query, Count from, int first) {
    using Sum = typename F::Sum;
    constexpr int kScores = F::kColumns / Engine::kSharing;
    Sum scores[Engine::kRows][kScores] = {}, of_queries[kScores];
    Engine::template multiply<F::kFeatures, F::kColumns>(memory.features_of(first), memory.next_features,
                                                         scores);
    see<F, true>(job, at, query, from + first, scores);
#pragma unroll
    for (int j = 0; j < kScores; ++j) of_queries[j] = logarithm_of<Sum>(job, at, query + Engine::column(j));
    weigh<F, true>(scores, of_queries);
    if constexpr (kValue)
      Engine::template add<F::kColumns, F::kWidths>(scores, memory.stage_of(first), memory.next_widths,
                                                    value);
    if constexpr (kKey) {
      Sum grads[Engine::kRows][kScores] = {};
      Engine::template multiply<F::kWidths, F::kColumns>(memory.widths_of(first), memory.next_widths, grads);
#pragma unroll
      for (int j = 0; j < kScores; ++j) of_queries[j] = delta_of<Sum>(job, at, query + Engine::column(j));
      differentiate<F, true>(grads, scores, of_queries);
      Engine::template add<F::kColumns, F::kFeatures>(grads, memory.stage_of(first), memory.next_features,
                                                      key);
    }
  }
};

// Of key and value, or of one of them, each with what it is stored as.
template <class F, class KeyOut, class ValueOut, bool kKey, bool kValue>
KILN_MATH void attend_by_keys(const AttentionJob& job) {
  using Sum = typename F::Sum;
  using Engine = typename F::Engine;
  const Memory<F> memory(shared_memory<typename F::Stored>(), 2);
  const int first = threadIdx.x / kLanes * kWarpRows;
  const Count blocks = (job.keys + F::kTile - 1) / F::kTile;
  for (Count unit = blockIdx.x; unit < job.apart * blocks; unit += gridDim.x) {
    const Count apart = unit / blocks, key = unit % blocks * F::kTile;
    const Places kept(job, apart, 0);
    fill_from<F, F::kTile, kKeys>(memory.features, job, kept, key);
    fill_from<F, F::kTile, kValues>(memory.widths, job, kept, key);
    end_group();
    SumsByKeys<F, kKey, kValue> sums;
    for (Count alike = 0; alike < job.alike; ++alike) {
      const Places at(job, apart, alike);
      // Earlier queries of causal attention do not see these keys.
      for (Count query = F::kCausal ? key / F::kColumns * F::kColumns : 0; query < job.queries;
           query += F::kColumns) {
        fill_from<F, F::kColumns, kQueries>(memory.next_features, job, at, query);
        fill_from<F, F::kColumns, kGrads>(memory.next_widths, job, at, query);
        end_group();
        wait_for_groups<0>();
        __syncthreads();
        if (!F::kCausal || query + F::kColumns > key + first) sums.add(job, memory, at, query, key, first);
        __syncthreads();  // before the next queries are written
      }
    }
    wait_for_groups<0>();  // where no query sees the keys, before others are copied to their place
    Sum scales[Engine::kRows];
    if constexpr (kKey) {
      fill_with(scales, static_cast<Sum>(job.scale));
      store<F, KeyOut, F::kFeatures>(job.by_key, apart * job.keys, key + first, job.keys, job.features,
                                     sums.key, scales);
    }
    if constexpr (kValue) {
      fill_with(scales, Sum(1));
      store<F, ValueOut, F::kWidths>(job.by_value, apart * job.keys, key + first, job.keys, job.widths,
                                     sums.value, scales);
    }
  }
}

}  // namespace kiln::cuda
