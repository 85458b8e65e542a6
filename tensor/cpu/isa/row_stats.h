// Owns folds of what is made chunk by chunk, and the statistics of a row that norms need. Included only by
// files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// What a fold takes, made of rows where it reads them: `make(read)`, where read(p) is the element of row p at
// hand, or a vector of such.
template <class A, class Make>
struct MadeFrom {
  Make make;
  std::int64_t at;
  MadeFrom operator+(std::int64_t n) const { return {make, at + n}; }
};
template <class A, class Make>
[[gnu::always_inline]] inline WideVector<A> load_wide(const MadeFrom<A, Make>& of) {
  return of.make([at = of.at](const A* row)
                     __attribute__((always_inline)) { return load_wide<A>(row + at); });
}
template <class A, class Make>
WideVector<A> load_some(const MadeFrom<A, Make>& of, std::int64_t count, A fill) {
  WideVector<A> v = WideVector<A>{} + fill;
  for (std::int64_t i = 0; i < count; ++i) v[i] = of.make([at = of.at + i](const A* row) { return row[at]; });
  return v;
}

// Folds in the fixed order what `from(begin, n)` gives the place of, chunk by chunk.
template <class C, class A, class From>
A fold_chunks(std::int64_t count, const From& from) {
  constexpr std::int64_t kChunk = 8 * kReductionLanes;
  BlockTree<C, A> tree;
  for (std::int64_t begin = 0; begin < count; begin += kReductionBlock) {
    const std::int64_t end = std::min(count, begin + kReductionBlock);
    Lanes<C, A> lanes;
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t size = std::min(kChunk, end - i);
      lanes.add(from(i, size), size);
    }
    tree.add(lanes.result());
  }
  return tree.result();
}

// Likewise, of what is kept for its sum alone, as MadeFrom makes it.
template <class C, class A, class Make>
A fold_made(std::int64_t count, const Make& make) {
  return fold_chunks<C, A>(count,
                           [&](std::int64_t begin, std::int64_t) { return MadeFrom<A, Make>{make, begin}; });
}

// Two of them, a chunk of each after the other.
template <class C, class A, class Make, class Other>
std::array<A, 2> fold_two_made(std::int64_t count, const Make& make, const Other& other) {
  constexpr std::int64_t kChunk = 8 * kReductionLanes;
  BlockTree<C, A> trees[2];
  for (std::int64_t begin = 0; begin < count; begin += kReductionBlock) {
    const std::int64_t end = std::min(count, begin + kReductionBlock);
    Lanes<C, A> lanes[2];
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t size = std::min(kChunk, end - i);
      lanes[0].add(MadeFrom<A, Make>{make, i}, size);
      lanes[1].add(MadeFrom<A, Other>{other, i}, size);
    }
    for (int k = 0; k < 2; ++k) trees[k].add(lanes[k].result());
  }
  return {trees[0].result(), trees[1].result()};
}

// Mean and reciprocal standard deviation of a row, the mean by distances from the first element. Not
// `Centered`: of distances from 0, for rms_norm.
template <class A>
struct RowStats {
  A mean = 0;
  A rstd = 0;
};

template <bool Centered, class A>
RowStats<A> row_stats(const A* x, std::int64_t n, double epsilon) {
  RowStats<A> stats;
  if (Centered) {
    const A first = x[0];
    const auto distance = [=](const auto& read) { return read(x) - first; };
    stats.mean = first + fold_made<SumOf, A>(n, distance) / static_cast<A>(n);
  }
  const A mean = stats.mean;
  const auto square = [=](const auto& read) {
    const auto d = Centered ? read(x) - mean : read(x);
    return d * d;
  };
  const A squares = fold_made<SumOf, A>(n, square);
  stats.rstd = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(epsilon));
  return stats;
}

}  // namespace kiln::cpu::KILN_ISA
