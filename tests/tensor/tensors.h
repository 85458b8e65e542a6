// Owns small helpers of the tensor tests: making tensors, reading their elements, comparing bits.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tensor/functions.h"

namespace kiln::testing {

// Element `i` (row-major) of any tensor as a long double; written back likewise.
long double element(const Tensor& x, std::int64_t i);
void set_element(const Tensor& x, std::int64_t i, long double value);
std::vector<long double> elements(const Tensor& x);

// Contiguous, element i = f(i), cast to the dtype.
Tensor make(const Dims& sizes, DType dtype, const std::function<double(std::int64_t)>& f);
// Numbers without pattern in (low, high), the same for the same seed.
Tensor noise(const Dims& sizes, DType dtype, int seed, double low = -2.0, double high = 2.0);

// The same elements in other layouts: every second of a wider tensor, and with the dimensions laid out
// backwards.
Tensor strided(const Tensor& x);
Tensor backwards(const Tensor& x);

bool same_bits(const Tensor& a, const Tensor& b);  // equal types and elements; nans are equal to each other
std::string describe(const Tensor& x);

struct NamedAttr {
  std::string_view name;
  Attr value;
};
// Runs an op by name on plain tensors.
Tensors call(std::string_view op, const std::vector<Tensor>& inputs,
             const std::vector<NamedAttr>& attrs = {});
Attrs attrs_of(const Op& op, const std::vector<NamedAttr>& attrs);

}  // namespace kiln::testing
