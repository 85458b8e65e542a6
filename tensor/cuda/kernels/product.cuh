// Owns kernels of products of matrices in the order of the CPU's sums (tensor/product_order.h): of tiles, of
// matrices by vectors, and the sum of parts that were computed apart. An Element is read into the type of the
// sums, f32 of halves and unsigned of integers, which wrap, and a sum is stored as Out.
#pragma once

#include "tensor/cuda/kernels/product_job.h"
#include "tensor/cuda/kernels/walk.cuh"
#include "tensor/product_order.h"

namespace kiln::cuda {

inline constexpr int kThreads = 256;  // of a block

// ---- Shared by the kernels ----

template <class Sum, class Element>
KILN_MATH Sum factor(Element x) {
  return static_cast<Sum>(scalar::widen(x));
}

template <bool kFused, class Sum>
KILN_MATH Sum add_product(Sum sum, Sum a, Sum b) {
  if constexpr (kFused)
    return math::fma(a, b, sum);
  else
    return sum + a * b;
}

// What a part of the depth gives for an element of the result. Parts that are not computed apart come one
// after the other, from the same thread, so that the result has the sum of those before.
template <class Out, class Sum>
KILN_MATH void store(const ProductJob& job, Count part, Count place, Sum sum) {
  if (job.sums != nullptr)
    return put<Sum>(job.sums, part * job.products * job.rows * job.columns + place, sum);
  if constexpr (scalar::kIsSame<Out, Sum>) {
    if (part > 0) sum = element<Sum>(job.result, place) + sum;
  }
  put<Out>(job.result, place, scalar::convert<Out>(sum));
}

template <class Element>
struct Matrices {
  const Element *left, *right;
};
template <class Element>
KILN_MATH Matrices<Element> matrices(const ProductJob& job, Count product) {
  Count places[2];
  places_at(job.batch, job.products, product, places);
  return {static_cast<const Element*>(job.left) + places[0],
          static_cast<const Element*>(job.right) + places[1]};
}

// ---- Tiles: a block of threads has a square of the result ----

inline constexpr int kTileThreads = 16;  // along each side of a tile
inline constexpr int kTileSteps = 16;    // of the depth that are in shared memory at a time

// A thread has kEach rows by kEach columns: as many neighbours as it reads at once, then those of the next
// threads come.
template <class Element, class Sum, bool kFused, int kEach>
struct Tiles {
  static constexpr int kSide = kTileThreads * kEach, kNeighbours = kEach < 4 ? kEach : 4;
  static constexpr int kReads = kSide * kTileSteps / kThreads;  // of a thread, from each operand
  using Lines = Sum[kTileSteps][kSide + 4];                     // the gap spreads writes over the banks

  KILN_MATH int line_of(int thread, int i) {
    return i / kNeighbours * (kTileThreads * kNeighbours) + thread * kNeighbours + i % kNeighbours;
  }

  // What a thread reads of a tile: its first line and step, and how far it is to the next ones. Neighbouring
  // threads read neighbours in memory.
  struct Reads {
    int line, step, next_line, next_step;
  };
  KILN_MATH Reads reads_of(bool by_step) {
    const int i = threadIdx.x;
    return by_step ? Reads{i / kTileSteps, i % kTileSteps, kThreads / kTileSteps, 0}
                   : Reads{i % kSide, i / kSide, 0, kThreads / kSide};
  }

  // Some lines of an operand, rows of the left matrix or columns of the right one, and some steps of them.
  struct Source {
    const Element* data;
    Count line, step;    // how far apart they are
    Count lines, steps;  // that are there; zeros stand for the others, which add nothing
  };
  KILN_MATH void read(const Source& from, Sum (&to)[kReads]) {
    const Reads at = reads_of(from.step == 1);
    const Element* data = from.data + at.line * from.line + at.step * from.step;
    const Count next = at.next_line * from.line + at.next_step * from.step;
    const int lines = static_cast<int>(from.lines < kSide ? from.lines : kSide);
    const int steps = static_cast<int>(from.steps < kTileSteps ? from.steps : kTileSteps);
#pragma unroll
    for (int k = 0; k < kReads; ++k, data += next) {
      const bool is_there = at.line + k * at.next_line < lines && at.step + k * at.next_step < steps;
      to[k] = is_there ? factor<Sum>(*data) : Sum(0);
    }
  }
  KILN_MATH void share(const Sum (&from)[kReads], bool by_step, Lines& to) {
    const Reads at = reads_of(by_step);
#pragma unroll
    for (int k = 0; k < kReads; ++k) to[at.step + k * at.next_step][at.line + k * at.next_line] = from[k];
  }

  // Adds the steps that are in shared memory to the chains of a thread.
  KILN_MATH void add_steps(const Lines& left, const Lines& right, Sum (&chains)[kEach][kEach]) {
    const int x = threadIdx.x % kTileThreads, y = threadIdx.x / kTileThreads;
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) {
      Sum a[kEach], b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) a[i] = left[step][line_of(y, i)];
#pragma unroll
      for (int j = 0; j < kEach; ++j) b[j] = right[step][line_of(x, j)];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) chains[i][j] = add_product<kFused>(chains[i][j], a[i], b[j]);
      }
    }
  }
};

// The sum of one part of the depth, [begin, end), for a tile whose first lines the sources give. What comes
// next is read while the steps before it are added.
template <class T, class Element, class Sum, int kEach>
KILN_MATH void add_part(typename T::Source left, typename T::Source right, Count begin, Count end,
                        typename T::Lines& shared_left, typename T::Lines& shared_right,
                        Sum (&chains)[kEach][kEach]) {
  Sum next_left[T::kReads], next_right[T::kReads];
  left.data += begin * left.step, right.data += begin * right.step;
  left.steps = right.steps = end - begin;
  T::read(left, next_left);
  T::read(right, next_right);
  while (left.steps > 0) {
    T::share(next_left, left.step == 1, shared_left);
    T::share(next_right, right.step == 1, shared_right);
    __syncthreads();
    left.data += kTileSteps * left.step, right.data += kTileSteps * right.step;
    left.steps -= kTileSteps, right.steps -= kTileSteps;
    if (left.steps > 0) {
      T::read(left, next_left);
      T::read(right, next_right);
    }
    T::add_steps(shared_left, shared_right, chains);
    __syncthreads();  // before the next steps are written
  }
}

template <class Element, class Out, class Sum, bool kFused, int kEach>
KILN_MATH void multiply_tiles(const ProductJob& job) {
  using T = Tiles<Element, Sum, kFused, kEach>;
  __shared__ typename T::Lines left, right;
  const Count across = (job.columns + T::kSide - 1) / T::kSide, down = (job.rows + T::kSide - 1) / T::kSide;
  const Count apart = job.sums == nullptr ? 1 : job.parts;  // parts that are computed apart
  for (Count unit = blockIdx.x; unit < job.products * down * across * apart; unit += gridDim.x) {
    const Count column = unit % across * T::kSide, row = unit / across % down * T::kSide;
    const Count product = unit / across / down % job.products, first = unit / across / down / job.products;
    const Matrices<Element> from = matrices<Element>(job, product);
    for (Count part = first; part < (job.sums == nullptr ? job.parts : first + 1); ++part) {
      Sum chains[kEach][kEach] = {};
      add_part<T, Element>(
          {from.left + row * job.left_row, job.left_row, job.left_step, job.rows - row, 0},
          {from.right + column * job.right_column, job.right_column, job.right_step, job.columns - column, 0},
          begin_of_part(job.depth, job.parts, part), begin_of_part(job.depth, job.parts, part + 1), left,
          right, chains);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const Count at_row = row + T::line_of(threadIdx.x / kTileThreads, i);
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          const Count at_column = column + T::line_of(threadIdx.x % kTileThreads, j);
          if (at_row < job.rows && at_column < job.columns)
            store<Out>(job, part, (product * job.rows + at_row) * job.columns + at_column, chains[i][j]);
        }
      }
    }
  }
}

// ---- Vectors ----

// One row by a block of terms of the vector.
template <class Element>
struct RowBlock {
  Count place, block;  // of the result; of the depth
  const Element *row, *vector;
  Count terms;
};
template <class Element>
KILN_MATH RowBlock<Element> row_block(const ProductJob& job, Count product, Count row, Count block) {
  const Matrices<Element> from = matrices<Element>(job, product);
  const Count first = block * kDotBlock, rest = job.depth - first;
  return {product * job.rows + row, block, from.left + row * job.left_row + first * job.left_step,
          from.right + first * job.right_step, rest < kDotBlock ? rest : kDotBlock};
}

// The sum of lane `lane` of a block.
template <class Sum, class Element>
KILN_MATH Sum add_lane(const ProductJob& job, const RowBlock<Element>& from, int lane) {
  Sum sum(0);
#pragma unroll 8
  for (Count p = lane; p < from.terms; p += kDotLanes) {
    sum = add_product<false>(sum, factor<Sum>(from.row[p * job.left_step]),
                             factor<Sum>(from.vector[p * job.right_step]));
  }
  return sum;
}

// A group of lanes has a row by a block; fewer than a warp where there are fewer terms.
template <class Element, class Out, class Sum>
KILN_MATH void multiply_rows(const ProductJob& job) {
  const int group = static_cast<int>(job.group), lane = threadIdx.x % group;
  const Count units = job.products * job.rows * job.parts, step = all_threads() / group;
  // All lanes of a warp go on as long as its first one does.
  for (Count begin = first_thread() / kLanes * (kLanes / group); begin < units; begin += step) {
    const Count unit = begin + threadIdx.x % kLanes / group, block = unit % job.parts;
    RowBlock<Element> from{};
    if (unit < units)
      from = row_block<Element>(job, unit / job.parts / job.rows, unit / job.parts % job.rows, block);
    const Sum sum = fold<SumOf>(add_lane<Sum>(job, from, lane), group);
    if (lane == 0 && unit < units) store<Out>(job, block, from.place, sum);
  }
}

// Neighbouring rows are neighbours in memory: a block of threads has 32 of them, and a thread four lanes of
// one.
template <class Element, class Out, class Sum>
KILN_MATH void multiply_columns(const ProductJob& job) {
  constexpr int kDown = kThreads / kLanes, kEach = kDotLanes / kDown;
  __shared__ Sum shared[kDown][kLanes];
  const int x = threadIdx.x % kLanes, y = threadIdx.x / kLanes;
  const Count tiles = (job.rows + kLanes - 1) / kLanes;
  for (Count unit = blockIdx.x; unit < job.products * tiles * job.parts; unit += gridDim.x) {
    const Count row = unit % tiles * kLanes + x;
    RowBlock<Element> from{};
    if (row < job.rows)
      from = row_block<Element>(job, unit / tiles % job.products, row, unit / tiles / job.products);
    Sum lanes[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) lanes[k] = add_lane<Sum>(job, from, y + k * kDown);
#pragma unroll
    for (int half = kEach / 2; half > 0; half /= 2) {
#pragma unroll
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    shared[y][x] = lanes[0];
    __syncthreads();
    for (int half = kDown / 2; half > 0; half /= 2) {
      if (y < half) shared[y][x] += shared[y + half][x];
      __syncthreads();
    }
    if (y == 0 && row < job.rows) store<Out>(job, from.block, from.place, shared[0][x]);
    __syncthreads();  // before it is written again
  }
}

// ---- Parts that were computed apart ----

template <class Element, class Out, class Sum>
KILN_MATH void add_parts(const ProductJob& job) {
  const Count count = job.products * job.rows * job.columns;
  for (Count i = first_thread(); i < count; i += all_threads()) {
    Sum sum(0);
#pragma unroll 8
    for (Count part = 0; part < job.parts; ++part) sum += element<Sum>(job.sums, part * count + i);
    put<Out>(job.result, i, scalar::convert<Out>(sum));
  }
}

}  // namespace kiln::cuda
