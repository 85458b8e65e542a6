// Owns reads and writes of tensors at computed places: what index, index_select, index_add and their kin come
// down to.
#pragma once

#include <vector>

#include "tensor/ops/put.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Places of a tensor in three groups: outer + step * middle + inner, the middle ones from an index. All in
// elements relative to the tensor's first; a line of inner places is contiguous when `dense`.
struct Places {
  std::vector<std::int64_t> outer;
  Tensor middle;  // contiguous i64
  std::int64_t step = 1;
  std::vector<std::int64_t> inner;
  bool dense = false;

  std::int64_t count() const {
    return static_cast<std::int64_t>(outer.size() * inner.size()) * middle.numel();
  }
};
// Dimensions before and after those from `first` to before `last`, which an index replaces.
Places places_around(const Layout& layout, int first, int last, Tensor middle, std::int64_t step);
// The places of the slices along `dim` that an index names. A 0-d tensor counts as one of one dimension.
Places places_along(const Tensor& x, int dim, const Tensor& index);

// result[outer][middle][inner] = x at those places. `result` is contiguous, of the same dtype.
void take(const Tensor& result, const Tensor& x, const Places& places);

// Puts values[outer][middle][inner] (contiguous, of x's dtype; or one element for all) to those places of
// `target`: writes or adds. Where places meet, they are written in the order of `middle`, on any number of
// threads: the last one stays.
void put(const Tensor& target, const Tensor& values, const Places& places, Put put);

}  // namespace kiln::cpu
