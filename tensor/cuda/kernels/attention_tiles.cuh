// Owns what kernels of attention share: their shared memory, tiles that are read into it, what of the scores
// is seen, and how rows are stored.
#pragma once

#include "tensor/cuda/kernels/async_copy.cuh"
#include "tensor/cuda/kernels/attention_job.h"
#include "tensor/cuda/kernels/warp_tiles.cuh"
#include "tensor/math/exp.h"

namespace kiln::cuda {

enum class Hides {
  Nothing,
  Flags,
  Added
};  // what a mask is: none, true where a key is seen, added to scores

// A kernel's types and sizes. Warps have 16 rows each of the tile that stays while others, of kColumns, pass;
// features and widths are filled up with zeros. `Element`: of the operands.
template <class Engine_, class Element_, int kWarps_, int kFeatures_, int kWidths_, int kColumns_,
          Hides kMask_, bool kCausal_>
struct AttentionForm {
  using Engine = Engine_;
  using Element = Element_;
  using Sum = typename Engine::Sum;
  using Stored = typename Engine::Stored;
  static constexpr int kThreads = kWarps_ * kLanes, kTile = kWarps_ * kWarpRows, kFeatures = kFeatures_,
                       kWidths = kWidths_, kColumns = kColumns_;
  static constexpr Hides kMask = kMask_;
  static constexpr bool kCausal = kCausal_;
};

template <class Stored>
KILN_MATH Stored* shared_memory() {
  extern __shared__ Piece<float> kiln_attention_memory[];
  return reinterpret_cast<Stored*>(kiln_attention_memory);
}

// Tiles that stay, `staying` of them (features, then widths), tiles that pass, and what the warps stage.
template <class F>
struct Memory {
  using Stored = typename F::Stored;
  static constexpr int kFeaturePitch = pitch<Stored>(F::kFeatures), kWidthPitch = pitch<Stored>(F::kWidths);
  Stored *features, *widths, *next_features, *next_widths;
  typename F::Sum* stage;

  __device__ __forceinline__ Memory(Stored* from, int staying)
      : features(from),
        widths(features + F::kTile * kFeaturePitch),
        next_features(staying == 1 ? widths : widths + F::kTile * kWidthPitch),
        next_widths(next_features + F::kColumns * kFeaturePitch),
        stage(reinterpret_cast<typename F::Sum*>(next_widths + F::kColumns * kWidthPitch)) {}

  // Of the warp whose first row this is.
  __device__ __forceinline__ const Stored* features_of(int row) const {
    return features + row * kFeaturePitch;
  }
  __device__ __forceinline__ const Stored* widths_of(int row) const { return widths + row * kWidthPitch; }
  __device__ __forceinline__ typename F::Sum* stage_of(int row) const {
    return stage + row * pitch<typename F::Sum>(F::kColumns);
  }
};

// 2^x; beyond what is normal 0 and inf.
template <class Sum>
KILN_MATH Sum power(Sum x) {
  constexpr Sum kMost = sizeof(Sum) == 4 ? 128 : 1024, kLeast = 2 - kMost;
  const Sum within = x > kMost ? kMost : x;
  const Sum shifted = within + math::Format<Sum>::kMagic;
  const Sum rest = within - (shifted - math::Format<Sum>::kMagic);
  const Sum value =
      math::fma(rest, math::exp2_tail(rest), Sum(1)) * math::power_of_two<Sum>(math::to_bits(shifted));
  return x < kLeast ? Sum(0) : value;
}

// Combines what the lanes have that share a row.
template <class F, class Sum, class Combine>
KILN_MATH Sum over_row(Sum mine, const Combine& combine) {
#pragma unroll
  for (int by = 1; by < F::Engine::kSharing; by *= 2)
    mine = combine(mine, __shfl_xor_sync(kAllLanes, mine, by));
  return mine;
}

// ---- Operands --------------------------------------------------------------------------------------------

// Where the matrices of one attention begin; the result in matrices of it.
struct Places {
  Count of[kAttentionOperands];
  Count result;

  __device__ __forceinline__ Places(const AttentionJob& job, Count apart, Count alike) {
    Count more[kAttentionOperands];
    places_at(job.along_apart, job.apart, apart, of);
    places_at(job.along_alike, job.alike, alike, more);
    for (int k = 0; k < kAttentionOperands; ++k) of[k] += more[k];
    result = of[kResults];
  }
};

template <class Element>
struct Source {
  const Element* data;  // of a row; the others follow
  Count row;            // from one to the next
  bool in_pieces;       // of 16 bytes
};
template <class Element>
KILN_MATH Source<Element> source(const AttentionJob& job, const void* data, const Places& at,
                                 AttentionOperand operand, Count row) {
  return {static_cast<const Element*>(data) + at.of[operand] + row * job.rows[operand], job.rows[operand],
          (job.pieces >> operand & 1) != 0};
}

template <class Stored, class Element>
KILN_MATH void put_piece(Stored* to, const Piece<Element>& from) {
  if constexpr (scalar::kIsSame<Stored, Element>) {
    *reinterpret_cast<Piece<Element>*>(to) = from;
  } else {
#pragma unroll
    for (int k = 0; k < Piece<Element>::kCount; ++k) to[k] = scalar::widen(from.at[k]);
  }
}

// Begins to fill a tile of kRows rows of kWidth elements with as many rows as there are left, zeros beyond.
// It is there when the group of copies is, which the caller ends.
template <class F, int kRows, int kWidth>
KILN_MATH void fill(typename F::Stored* to, const Source<typename F::Element>& from, Count left,
                    Count width) {
  using Element = typename F::Element;
  using Stored = typename F::Stored;
  constexpr int kPitch = pitch<Stored>(kWidth), kEach = Piece<Element>::kCount, kAcross = kWidth / kEach;
  const int rows = static_cast<int>(left < kRows ? left : kRows), columns = static_cast<int>(width);
#pragma unroll 2
  for (int i = threadIdx.x; i < kRows * kAcross; i += F::kThreads) {
    const int row = i / kAcross, column = i % kAcross * kEach;
    const bool is_there = row < rows && column < columns;
    const Element* const here = from.data + (is_there ? row * from.row + column : 0);
    Stored* const place = to + row * kPitch + column;
    if (scalar::kIsSame<Stored, Element> && from.in_pieces) {
      if constexpr (scalar::kIsSame<Stored, Element>) begin_copy(place, here, is_there);
    } else if (from.in_pieces) {
      put_piece(place, is_there ? piece(here) : Piece<Element>());
    } else {
      Piece<Element> read = {};
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        if (is_there && column + k < columns) read.at[k] = here[k];
      put_piece(place, read);
    }
  }
}

// The same of an operand from its row `row` on. Keys and queries have features, values and gradients widths.
template <class F, int kRows, AttentionOperand kOperand>
KILN_MATH void fill_from(typename F::Stored* to, const AttentionJob& job, const Places& at, Count row) {
  constexpr bool kIsOfKeys = kOperand == kKeys || kOperand == kValues;
  constexpr bool kHasFeatures = kOperand == kKeys || kOperand == kQueries;
  const void* const data = kOperand == kKeys      ? job.key
                           : kOperand == kValues  ? job.value
                           : kOperand == kQueries ? job.query
                                                  : job.grad;
  fill<F, kRows, kHasFeatures ? F::kFeatures : F::kWidths>(
      to, source<typename F::Element>(job, data, at, kOperand, row),
      (kIsOfKeys ? job.keys : job.queries) - row, kHasFeatures ? job.features : job.widths);
}

// ---- Scores ----------------------------------------------------------------------------------------------

// Products become scores in powers of 2: -inf where the key is not seen. `query` and `key` are the first ones
// of the tile; kByKeys: rows are keys and columns queries.
template <class F, bool kByKeys, int kCount>
KILN_MATH void see(const AttentionJob& job, const Places& at, Count query, Count key,
                   typename F::Sum (&scores)[F::Engine::kRows][kCount]) {
  using Sum = typename F::Sum;
  constexpr Sum kLog2E = Sum(0x1.71547652b82fep+0);
  const Sum scale = static_cast<Sum>(job.scale) * kLog2E;
  const int queries = static_cast<int>(job.queries - query), keys = static_cast<int>(job.keys - key);
  const int lag = static_cast<int>(query - key);
  const Count mask = at.of[kMasks] + query * job.rows[kMasks] + key * job.mask_step;
#pragma unroll
  for (int i = 0; i < F::Engine::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int row = F::Engine::row(i), column = F::Engine::column(j);
      const int q = kByKeys ? column : row, k = kByKeys ? row : column;
      bool is_seen = k < keys && (!F::kCausal || k <= q + lag);
      Sum score = scores[i][j] * scale;
      if constexpr (F::kMask != Hides::Nothing) {
        const Count place = mask + q * job.rows[kMasks] + k * job.mask_step;
        if (is_seen && q < queries) {
          if constexpr (F::kMask == Hides::Flags)
            is_seen = element<bool>(job.mask, place);
          else
            score += static_cast<Sum>(scalar::widen(element<typename F::Element>(job.mask, place))) * kLog2E;
        }
      }
      scores[i][j] = is_seen ? score : -math::Format<Sum>::kInf;
    }
  }
}

// ---- Results ---------------------------------------------------------------------------------------------

// Stores the rows that a warp has from `row` on, of `rows` there are; each times its scale. `before`: rows of
// matrices before this one.
template <class F, class Out, int kWidth, int kCount>
KILN_MATH void store(void* to, Count before, Count row, Count rows, Count width,
                     const typename F::Sum (&sums)[F::Engine::kRows][kCount],
                     const typename F::Sum (&scales)[F::Engine::kRows]) {
  static_assert(kCount == kWidth / F::Engine::kSharing);
#pragma unroll
  for (int i = 0; i < F::Engine::kRows; ++i) {
    const Count at = row + F::Engine::row(i);
    if (at >= rows) continue;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int column = F::Engine::place(j);
      if (column < width)
        put<Out>(to, (before + at) * width + column, scalar::convert<Out>(sums[i][j] * scales[i]));
    }
  }
}

}  // namespace kiln::cuda
