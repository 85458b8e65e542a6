// Owns reads and writes of tensors at computed places: what gather, index, scatter and their kin come down
// to.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace kiln::cpu {

// Every element of a layout relative to its first, in row-major order.
std::vector<std::int64_t> all_offsets(std::span<const Dim> sizes, std::span<const Dim> strides);

// A contiguous i64 copy of an integer tensor, or itself. Throws OpError (Index) for the first value outside
// of [0, size), or of [-size, size) when `wrap`, naming `dim`; negative values are then counted from the end.
Tensor checked_index(const Tensor& index, Dim size, int dim, bool wrap, int operand);

// Places of a tensor in three groups: outer + middle + inner, the middle ones from an index. All in elements
// relative to the tensor's first; a line of inner places is contiguous when `dense`.
struct Places {
  std::vector<std::int64_t> outer;
  std::vector<std::int64_t> middle;
  std::vector<std::int64_t> inner;
  bool dense = false;

  std::int64_t count() const {
    return static_cast<std::int64_t>(outer.size() * middle.size() * inner.size());
  }
};
// Dimensions before and after those from `first` to before `last`, which an index replaces.
Places places_around(const Layout& layout, int first, int last, std::vector<std::int64_t> middle);

// result[outer][middle][inner] = x at those places. `result` is contiguous, of the same dtype.
void take(const Tensor& result, const Tensor& x, const Places& places);

// How an element meets the one at its place. Integers wrap; the greater and the less of nan is nan.
enum class Put { Write, Add, Multiply, Max, Min };

// Puts values[outer][middle][inner] (contiguous, of x's dtype) to those places of `target`: writes or adds.
// Where places meet, they are written in the order of `middle`, on any number of threads: the last one stays.
void put(const Tensor& target, const Tensor& values, const Places& places, Put put);

// result[i] = x[i with i[dim] replaced by index[i]], for all i of the index. Contiguous i64 index, already
// checked.
void gather(const Tensor& result, const Tensor& x, int dim, const Tensor& index);
// Puts source[i] to target[i with i[dim] replaced by index[i]], in the order of i[dim].
void scatter(const Tensor& target, int dim, const Tensor& index, const Tensor& source, Put put);

}  // namespace kiln::cpu
