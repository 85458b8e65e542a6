#include "tensor/cuda/axes.h"

namespace kiln::cuda {

WalkAxes::WalkAxes(const IntDims& all, std::span<const IntDims> all_strides) : strides(all_strides.size()) {
  const auto merges = [&](std::size_t d) {
    if (sizes.empty()) return false;
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (all_strides[k][d] != strides[k].back() * sizes.back()) return false;
    }
    return true;
  };
  for (std::size_t d = all.size(); d-- > 0;) {
    if (all[d] == 1) continue;
    if (merges(d)) {
      sizes.back() *= all[d];
      continue;
    }
    sizes.push_back(all[d]);
    for (std::size_t k = 0; k < strides.size(); ++k) strides[k].push_back(all_strides[k][d]);
  }
  if (!sizes.empty()) return;
  sizes.push_back(1);
  for (IntDims& each : strides) each.push_back(0);
}

std::int64_t WalkPart::place(std::size_t operand, std::int64_t element) const {
  std::int64_t place = first[operand];
  for (std::size_t d = 0; d < walk.sizes.size(); element /= walk.sizes[d++])
    place += element % walk.sizes[d] * walk.strides[operand][d];
  return place;
}

}  // namespace kiln::cuda
