// Owns pooling over windows of planes on the CPU: maxima with their places, averages and their adjoint.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace kiln::cpu {

// The windows along one dimension: those of its places begin, begin + step, … below end, at least
// one. There may be as many as an argument says, so they lie in counted memory.
struct Windows {
  Windows() = default;
  explicit Windows(std::int64_t count)
      : memory(Tensor::empty(IntDims{3, count}, DType::I64, Device{})),
        begin(row(0, count)),
        end(row(1, count)),
        weight(row(2, count)) {}
  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()); }

  std::int64_t step = 1;
  Tensor memory;
  std::span<std::int64_t> begin, end;
  std::span<std::int64_t> weight;  // what an average counts as the places of the window

 private:
  std::span<std::int64_t> row(std::int64_t i, std::int64_t count) const {
    return {memory.writable<std::int64_t>() + i * count, static_cast<std::size_t>(count)};
  }
};

// Planes are the last two dimensions; x and results are contiguous. `values` gets the largest element of
// each window, nan where there is one, and `indices` (i64) its place in the plane, rows first: the first of
// equals, the last of nans.
void max_windows(const Tensor& x, const Windows& rows, const Windows& columns, const Tensor& values,
                 const Tensor& indices);

// y gets the sum of each window divided by `divisor`, or when that is 0 by the product of both weights.
// Floats of 32 or 64 bits, and i64, which is divided towards zero.
void average_windows(const Tensor& x, const Windows& rows, const Windows& columns, std::int64_t divisor,
                     const Tensor& y);
// Its adjoint: every element of y, divided, is added to all of x in its window. Floats of 32 or 64 bits.
void spread_windows(const Tensor& y, const Windows& rows, const Windows& columns, std::int64_t divisor,
                    const Tensor& x);

// x [planes, places] gets at each index the sum of the elements of y [planes, count] with that index, in
// their order. Floats of 32 or 64 bits; the indices are i64, contiguous, and checked.
void add_at_indices(const Tensor& y, const Tensor& indices, const Tensor& x);

}  // namespace kiln::cpu
