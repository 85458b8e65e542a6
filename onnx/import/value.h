// Owns what a name of a model stands for while the model is imported.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::onnx {

// A tensor, a sequence of values, or nothing: an optional input left out, an empty optional.
struct Value {
  // What ops compute with. Its elements are known, or it stands for a value of the graph that is made.
  Tensor tensor;
  // Of a weight, which is a value of the graph: the elements that it has in the model.
  Tensor elements{};
  // Of i64 numbers of rank 0 or 1 that follow sizes which are symbols: the numbers. `tensor` is absent then.
  std::optional<Dims> sizes{};
  bool is_scalar = false;                             // of `sizes`: rank 0
  std::shared_ptr<const std::vector<Value>> items{};  // of a sequence

  Value() = default;
  Value(Tensor t) : tensor(std::move(t)) {}
  static Value of_sizes(Dims numbers, bool is_scalar);
  static Value sequence(std::vector<Value> items);

  bool exists() const { return tensor || sizes || items; }
};

using Values = std::vector<Value>;

}  // namespace kiln::onnx
