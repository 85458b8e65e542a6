// Owns what samples are written with: numbers, words, small tensors.
#pragma once

#include <string>
#include <vector>

#include "tests/tensor/samples.h"

namespace kiln::testing {

using Samples = std::vector<Sample>;

inline std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }
inline Attr text(const char* value) { return std::string(value); }

inline Tensor real(const Dims& sizes, int seed = 1, double low = -2.0, double high = 2.0) {
  return noise(sizes, DType::F64, seed, low, high);
}
inline Tensor ints(const Dims& sizes, const std::vector<int>& values) {
  return make(sizes, DType::I64, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}
inline Tensor mask(const Dims& sizes, const std::vector<int>& values) {
  return ops::to(ints(sizes, values), DType::Bool);
}
// Elements and the one of a tensor of no dimensions.
inline Samples like() { return {{{real({2, 3})}, {}}, {{real({})}, {}}}; }

}  // namespace kiln::testing
