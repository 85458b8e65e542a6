// Owns the order in which the values of several ranks are reduced, which is one for all transports, sizes and
// chunks.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace kiln::dist {

enum class ReduceOp { Sum, Min, Max, Product };

/// Reduces `inputs[0..n)`, each of `count` elements of `dtype`, elementwise into `output`, which may be one
/// of them.
///
/// The order is a fixed tree: T(lo, 1) = inputs[lo], T(lo, n) = T(lo, p) op T(lo + p, n - p), with p the
/// largest power of two below n. f16 and bf16 are carried in f32 and rounded once. Integer sums and products
/// wrap; bool sums are "or", products "and". Min and Max give nan where an input is nan.
void reduce_in_order(DType dtype, ReduceOp op, std::span<const std::byte* const> inputs, std::byte* output,
                     std::size_t count);

/// The largest power of two below n, for n >= 2: where the tree is cut.
std::size_t cut_of_tree(std::size_t n);

}  // namespace kiln::dist
