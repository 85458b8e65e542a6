// Owns how tensors are reduced over ranks once they have agreed on it.
#pragma once

#include <span>

#include "dist/algorithms/group.h"
#include "dist/controller/executor.h"

namespace kiln::dist {

/// New memory for a result, uninitialized, where the group's elements are.
Tensor made(const Group& group, const TensorSpec& spec);
/// The same for a result of the type of an input.
Tensor result_of(const Group& group, const Submitted& input, const TensorSpec& spec);

/// Allreduces that share a buffer; sets the outputs of ranks that have not joined.
void perform_allreduce(const Group& group, std::span<Work> works);

/// Reduces the input, and leaves this rank the elements `parts[group.me]` in `output`.
void scatter_parts(const Group& group, Work& work, std::span<const Range> parts, Tensor output);

}  // namespace kiln::dist
