// Owns folds of what is made chunk by chunk, and the statistics of a row that norms need. Included only by
// files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// Folds what is made in the fixed order: `make(begin, n)` gives the place of a chunk.
template <class C, class A, class Make>
A fold_chunks(std::int64_t count, const Make& make) {
  constexpr std::int64_t kChunk = 8 * kReductionLanes;
  BlockTree<C, A> tree;
  for (std::int64_t begin = 0; begin < count; begin += kReductionBlock) {
    const std::int64_t end = std::min(count, begin + kReductionBlock);
    Lanes<C, A> lanes;
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t size = std::min(kChunk, end - i);
      lanes.add(make(i, size), size);
    }
    tree.add(lanes.result());
  }
  return tree.result();
}

// Likewise, of what is kept for its sum alone: `make(begin, n, to)` fills a chunk.
template <class C, class A, class Make>
A fold_made(std::int64_t count, const Make& make) {
  alignas(64) A chunk[8 * kReductionLanes];
  return fold_chunks<C, A>(count, [&](std::int64_t begin, std::int64_t size) {
    make(begin, size, chunk);
    return static_cast<const A*>(chunk);
  });
}

// Two folds at once: make(begin, n, to, other) fills a chunk of each.
template <class C, class A, class Make>
std::array<A, 2> fold_two_made(std::int64_t count, const Make& make) {
  constexpr std::int64_t kChunk = 8 * kReductionLanes;
  alignas(64) A chunks[2][kChunk];
  BlockTree<C, A> trees[2];
  for (std::int64_t begin = 0; begin < count; begin += kReductionBlock) {
    const std::int64_t end = std::min(count, begin + kReductionBlock);
    Lanes<C, A> lanes[2];
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t size = std::min(kChunk, end - i);
      make(i, size, chunks[0], chunks[1]);
      for (int k = 0; k < 2; ++k) lanes[k].add(chunks[k], size);
    }
    for (int k = 0; k < 2; ++k) trees[k].add(lanes[k].result());
  }
  return {trees[0].result(), trees[1].result()};
}

// Mean and reciprocal standard deviation of a row. Not `Centered`: of distances from 0, for rms_norm.
template <class A>
struct RowStats {
  A mean = 0;
  A rstd = 0;
};

// Calls along(at, n) for each chunk on the way.
template <bool Centered, class A, class Along>
RowStats<A> row_stats(const A* __restrict x, std::int64_t n, double epsilon, const Along& along) {
  RowStats<A> stats;
  if (Centered) stats.mean = fold_contiguous<SumOf>(x, n) / static_cast<A>(n);
  const A mean = stats.mean;
  const A squares = fold_made<SumOf, A>(n, [&](std::int64_t at, std::int64_t count, A* to) {
    along(at, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const A d = Centered ? x[at + i] - mean : x[at + i];
      to[i] = d * d;
    }
  });
  stats.rstd = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(epsilon));
  return stats;
}
template <bool Centered, class A>
RowStats<A> row_stats(const A* x, std::int64_t n, double epsilon) {
  return row_stats<Centered>(x, n, epsilon, [](std::int64_t, std::int64_t) {});
}

}  // namespace kiln::cpu::KILN_ISA
