// Owns collectives that reduce: every result has the bits of `reduce_in_order` over all members' values.
#pragma once

#include <cstddef>
#include <span>

#include "dist/algorithms/group.h"
#include "dist/algorithms/reduce.h"
#include "tensor/dtype.h"

namespace kiln::dist {

/// A number of `piece_bytes` that leaves it to the memory.
inline constexpr std::size_t kPiecesOfMemory = 0;

/// Leaves in `output` the reduction of `input`, contiguous elements of `dtype`, over all members. Both are of
/// one size, and are one memory or do not overlap. Throws PeerLost and Stopped, after which `output` holds
/// anything.
void allreduce(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
               std::span<std::byte> output, std::size_t piece_bytes = kPiecesOfMemory);

/// Reduces `input` and leaves member k the elements `parts[k]`, which cover it in order: `output` is this
/// member's part. Throws PeerLost and Stopped.
void reduce_scatter(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
                    std::span<const Range> parts, std::span<std::byte> output,
                    std::size_t piece_bytes = kPiecesOfMemory);

/// Replaces `data`, one tensor of floats in memory of the host, by its adaptive sum over all members, in the
/// tree of `reduce_in_order`: Adasum(a, b) = (1 - a·b / 2|a|²) a + (1 - a·b / 2|b|²) b, where a coefficient
/// is 1 if its squared norm is below √DBL_MIN. Products are summed in f64 from the first element to the last;
/// f16 and bf16 are carried in f32 and rounded once. Throws std::invalid_argument for other dtypes, PeerLost
/// and Stopped.
void adasum(const Group& group, DType dtype, std::span<std::byte> data);

}  // namespace kiln::dist
