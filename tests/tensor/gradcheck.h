// Owns the comparison of the tape's gradients with central finite differences, to the second order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::gradients {

// A tensor of these values, row-major.
Tensor make(const std::vector<double>& values, const Dims& sizes, DType dtype = DType::F64);
Tensor vec(const std::vector<double>& values, DType dtype = DType::F64);
Tensor scalar(double value, DType dtype = DType::F64);
// The same, requiring grad.
Tensor variable(const std::vector<double>& values, const Dims& sizes, DType dtype = DType::F64);
Tensor variable(const std::vector<double>& values, DType dtype = DType::F64);
// Fixed values in [low, high), different for each seed.
Tensor scattered(const Dims& sizes, double low = -1, double high = 1, int seed = 1, DType dtype = DType::F64);

// The elements, row-major.
std::vector<double> values(const Tensor& x);

// Computes outputs from inputs by recorded ops.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

struct Tolerance {
  double step = 1e-4;
  double relative = 1e-5;
};

// Compares the gradients of a fixed random combination of the outputs, by every float input, with finite
// differences; then those of a combination of the gradients. Says what differs, or "" when all agrees.
std::string compare_gradients(const Function& f, const std::vector<Tensor>& inputs, int orders = 2,
                              Tolerance tolerance = {});

}  // namespace kiln::gradients
