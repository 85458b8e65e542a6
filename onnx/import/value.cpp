#include "onnx/import/value.h"

namespace kiln::onnx {

Value Value::of_sizes(Dims numbers, bool is_scalar) {
  Value value;
  value.sizes = std::move(numbers);
  value.is_scalar = is_scalar;
  return value;
}

Value Value::sequence(std::vector<Value> items) {
  Value value;
  value.items = std::make_shared<const std::vector<Value>>(std::move(items));
  return value;
}

}  // namespace kiln::onnx
