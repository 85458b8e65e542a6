#include "tensor/cpu/walk.h"

namespace kiln::cpu {

void Space::simplify() {
  IntDims order(sizes_.size());
  std::iota(order.begin(), order.end(), 0);
  const IntDims& first = strides_[0];
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const std::int64_t stride_a = first[static_cast<std::size_t>(a)],
                       stride_b = first[static_cast<std::size_t>(b)];
    return stride_a != stride_b ? stride_a > stride_b : a < b;
  });
  IntDims sizes;
  std::array<IntDims, kMost> strides;
  const auto operands = static_cast<std::size_t>(count_);
  for (const std::int64_t ordered : order) {
    const auto dim = static_cast<std::size_t>(ordered);
    if (sizes_[dim] == 1) continue;
    bool merges = !sizes.empty();
    for (std::size_t k = 0; merges && k < operands; ++k) {
      merges = strides[k].back() == strides_[k][dim] * sizes_[dim];
    }
    if (merges) {
      sizes.back() *= sizes_[dim];
      for (std::size_t k = 0; k < operands; ++k) strides[k].back() = strides_[k][dim];
    } else {
      sizes.push_back(sizes_[dim]);
      for (std::size_t k = 0; k < operands; ++k) strides[k].push_back(strides_[k][dim]);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    for (std::size_t k = 0; k < operands; ++k) strides[k].push_back(1);
  }
  sizes_ = std::move(sizes);
  for (std::size_t k = 0; k < operands; ++k) strides_[k] = std::move(strides[k]);
}

bool Space::is_dense(int operand) const {
  std::int64_t expected = 1;
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    if (strides(operand)[i] != expected) return false;
    expected *= sizes_[i];
  }
  return true;
}

}  // namespace kiln::cpu
