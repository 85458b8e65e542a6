// Owns what the ONNX rules of rows write with: the values and nodes of a graph of that format, whatever keeps
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/op.h"

namespace kiln {

// A value of an ONNX graph, by its name there.
struct OnnxValue {
  std::string name;  // empty: an operand that is left out, or a number that has no constant yet
  DType dtype = DType::F32;
  Tensor number{};  // of a number of the program that is known: a 0-d tensor

  bool is_absent() const { return name.empty() && !number; }
};
using OnnxValues = std::vector<OnnxValue>;

using OnnxInts = std::vector<std::int64_t>;
using OnnxAttr = std::variant<std::int64_t, double, std::string, OnnxInts, std::vector<double>>;
using OnnxAttrs = std::vector<std::pair<std::string, OnnxAttr>>;

// Keeps the nodes that rules write. Names of results are its own.
class OnnxNodes {
 public:
  virtual ~OnnxNodes() = default;
  virtual int opset() const = 0;  // the version of the standard operators that nodes must keep to
  // May draws be other numbers than Kiln's, those of whoever runs the graph?
  virtual bool draws_at_runtime() const = 0;
  // A node of the standard's domain; the names of its `results`.
  virtual std::vector<std::string> add(std::string_view type, std::vector<std::string> operands,
                                       OnnxAttrs attributes, std::size_t results) = 0;
  // A value that is the tensor.
  virtual std::string constant(const Tensor& value) = 0;
  // Sizes as i64[n], or one as i64[]. Those that are symbolic are computed from shapes of inputs.
  virtual std::string sizes(std::span<const Dim> sizes) = 0;
  virtual std::string size(const Dim& size) = 0;
  // The words of the next draw of the generator (tensor/philox.h), four for each block: numbers of 32 bits in
  // i64[4 * blocks]. They follow the model's inputs `seed` and `draw`.
  virtual std::string draw_words(const Dim& blocks) = 0;
};

// One application of an op, as its rule sees it.
class OnnxApplication {
 public:
  const Op& op;
  const Attrs& attrs;
  std::span<const OnnxValue> inputs;
  std::span<const TensorType> input_types;  // of an absent operand: a bool number
  std::span<const TensorType> output_types;
  OnnxNodes& nodes;

  const TensorType& result() const { return output_types[0]; }
  int opset() const { return nodes.opset(); }
  std::size_t rank(std::size_t input) const { return input_types[input].sizes.size(); }
  bool has(std::size_t input) const { return input < inputs.size() && !inputs[input].is_absent(); }

  // Operand `i` with a name, in its own dtype or in another one.
  OnnxValue input(std::size_t i) const { return named(inputs[i]); }
  OnnxValue input(std::size_t i, DType dtype) const { return cast(inputs[i], dtype); }
  // A number as the constant that stands for it; other values as they are.
  OnnxValue named(const OnnxValue& value) const;
  // `value` itself where it has the dtype.
  OnnxValue cast(const OnnxValue& value, DType dtype) const;

  // A node with one result, of the dtype that the operator gives for these operands.
  OnnxValue node(std::string_view type, const OnnxValues& operands, OnnxAttrs attributes = {}) const;
  OnnxValues node(std::string_view type, const OnnxValues& operands, OnnxAttrs attributes,
                  std::span<const DType> results) const;

  OnnxValue constant(const Tensor& value) const { return {nodes.constant(value), value.dtype()}; }
  OnnxValue scalar(double value, DType dtype) const;  // 0-d
  OnnxValue ints(const OnnxInts& values) const;       // i64[n]
  OnnxValue sizes(std::span<const Dim> sizes) const { return {nodes.sizes(sizes), DType::I64}; }
  OnnxValue size(const Dim& size) const { return {nodes.size(size), DType::I64}; }

  OnnxValue reshape(const OnnxValue& value, std::span<const Dim> sizes) const;
  OnnxValue expand(const OnnxValue& value, std::span<const Dim> sizes) const;
  OnnxValue transpose(const OnnxValue& value, const OnnxInts& order) const;
  OnnxValue unsqueeze(const OnnxValue& value, const OnnxInts& axes) const;
  OnnxValue squeeze(const OnnxValue& value, const OnnxInts& axes) const;
  OnnxValue gather(const OnnxValue& value, const OnnxValue& indices, std::int64_t axis) const;
  // From `start` to `end`, each i64[1], along one axis.
  OnnxValue slice(const OnnxValue& value, const OnnxValue& start, const OnnxValue& end, std::int64_t axis,
                  std::int64_t step = 1) const;
  // "ReduceSum" and its kin over `axes`, which are an attribute or an operand by opset.
  OnnxValue reduce(std::string_view type, const OnnxValue& value, const OnnxInts& axes, bool keepdim) const;
};

// The dtype that an operator gives for these operands, and how they must be cast for it: conditions are
// bools.
DType onnx_result(std::string_view type, std::span<const OnnxValue> operands);
bool onnx_takes_bool(std::string_view type, std::size_t operand);

// The code of a dtype in the format, for attributes such as `to` of Cast. Throws InternalError for one that
// the format lacks.
std::int64_t onnx_code(DType dtype);

// An axis as the format counts it, 0 for the first of `rank`.
std::int64_t onnx_axis(const Attr& dim, std::size_t rank);

// Writes an application by the rule of its row, which must have an expression or a function.
OnnxValues write_onnx(const OnnxApplication& application);

}  // namespace kiln
