// Owns reads and writes of tensors along lines, at places that an index of the same rank gives: gather and
// scatter; and the checks of indices.
#pragma once

#include <vector>

#include "tensor/ops/put.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Every element of a layout relative to its first, in row-major order.
std::vector<std::int64_t> all_offsets(std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides);

// The step from each of the elements of a layout to the next, in row-major order, where it is the same for
// all; one of a single element is left as it is.
bool one_stride(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                std::int64_t& stride);

// A contiguous i64 copy of an integer tensor, or itself. Throws OpError (Index) for the first value outside
// of [0, size), or of [-size, size) when `wrap`, naming `dim`; negative values are then counted from the end.
Tensor checked_index(const Tensor& index, std::int64_t size, int dim, bool wrap, int operand);

// result[i] = x[i with i[dim] replaced by index[i]], for all i of the index. Contiguous i64 index, already
// checked.
void gather(const Tensor& result, const Tensor& x, int dim, const Tensor& index);
// Puts source[i] to target[i with i[dim] replaced by index[i]], in the order of i[dim].
void scatter(const Tensor& target, int dim, const Tensor& index, const Tensor& source, Put put);

}  // namespace kiln::cpu
