// Owns the order in which the elements of a product of matrices are added up (docs/products.md). The CPU's
// kernels and those of cards ask it alike, so that both give the same bits. No standard headers.
#pragma once

#include "tensor/math/basic.h"

namespace kiln {

// How an element of a product is added up. Sums of integers wrap, so that their order does not matter.
enum class ProductOrder : unsigned char {
  InTurn,  // rounded products one after the other
  Fused,   // fused multiply-adds one after the other in each part of the depth; parts are added in order
  Lanes,   // rounded products in the lanes of a block, which fold in halves; blocks are added in order
};

// Terms of a block of a vector product: term p is in lane p % kDotLanes.
inline constexpr long long kDotBlock = 8192;
inline constexpr int kDotLanes = 32;

// Multiply-adds below which laying panels out costs the CPU more than it saves (docs/performance.md).
inline constexpr long long kLeastFused = 6144;
// Steps of a part of the depth: what the CPU lays out of a block stays in its second cache. Fewer where so
// few rows read the right matrix once, in rows that are far apart.
inline constexpr long long kMostDepth = 384, kMostDepthOnce = 64, kFewestRows = 8;
// Steps that the CPU's kernels go by at a time: all parts but the last are whole runs of them.
inline constexpr int kDepthRun = 8;

struct ProductSizes {
  long long rows, columns, depth;
};
struct ProductSums {
  ProductOrder order;
  long long parts;  // of the depth; of `Lanes` blocks of terms
};

// `right_is_by_row`: neighbours in a row of the right matrix are neighbours in memory. `has_fused`: whether
// the CPU has fused multiply-adds for elements of this dtype.
KILN_MATH ProductSums product_sums(const ProductSizes& sizes, bool right_is_by_row, bool has_fused) {
  if (sizes.rows == 1 || sizes.columns == 1)
    return {ProductOrder::Lanes, (sizes.depth + kDotBlock - 1) / kDotBlock};
  if (!has_fused || sizes.rows * sizes.columns * sizes.depth <= kLeastFused) return {ProductOrder::InTurn, 1};
  const long long most = right_is_by_row && sizes.rows <= kFewestRows ? kMostDepthOnce : kMostDepth;
  return {ProductOrder::Fused, (sizes.depth + most - 1) / most};
}

// Where a part of the depth begins; at `part` = `parts` the depth ends. The parts are as even as can be.
KILN_MATH long long begin_of_part(long long depth, long long parts, long long part) {
  const long long runs = (depth + kDepthRun - 1) / kDepthRun, begin = runs * part / parts * kDepthRun;
  return begin < depth ? begin : depth;
}

}  // namespace kiln
