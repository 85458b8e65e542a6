// Owns sample inputs for the rows of the op table: what the generated tests run each op on.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tests/tensor/tensors.h"

namespace kiln::testing {

struct Sample {
  std::vector<Tensor> inputs;  // floats are f64, away from places where the op has no derivative
  std::vector<NamedAttr> attrs;
  // Set where the op is about some tensors only, such as symmetric matrices: an affine map into those, which
  // the first input goes through.
  Tensor (*domain)(const Tensor& x) = nullptr;

  std::vector<Tensor> in_domain(std::vector<Tensor> values) const {
    if (domain != nullptr) values[0] = domain(values[0]);
    return values;
  }
};

// Empty when none are known. Ops whose parameters are tensors and defaults need no entry.
std::vector<Sample> samples_of(const Op& op);

// Does the op leave its elements as the memory was?
bool leaves_elements(const Op& op);

// Is it one half of another row, which is tested in its place? A token stands for what was begun once.
bool is_half(const Op& op);

// Those of the families that move elements; such an op without an entry has none.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& place_samples();
// Those of rows without rules of their own.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& composed_samples();
// Those of factorizations of matrices.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& factor_samples();
// Those of Fourier transforms.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& fourier_samples();
// Those of convolutions, pooling and attention.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& layer_samples();
// Those of collectives.
const std::map<std::string_view, std::function<std::vector<Sample>()>>& collective_samples();

}  // namespace kiln::testing
