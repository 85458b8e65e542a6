// Owns what the function of an operator sees: a node of the model with the values of its inputs.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/import/value.h"
#include "onnx/proto/model.h"
#include "tensor/op.h"

namespace kiln::onnx {

class Evaluator;
class NameScope;

class Call {
 public:
  Call(Evaluator& evaluator, NameScope& scope, const NodeProto& node, std::int64_t opset);

  const NodeProto& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  Evaluator& evaluator() const { return evaluator_; }
  NameScope& scope() const { return scope_; }

  // ---- Inputs ----
  Values inputs;
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].exists(); }
  // The tensor; throws OpError where it was left out or is a sequence.
  Tensor x(std::size_t i) const;
  Tensor maybe(std::size_t i) const { return has(i) ? x(i) : Tensor(); }
  std::vector<Tensor> tensors() const;       // all inputs
  const Values& items(std::size_t i) const;  // of a sequence
  // The elements, which may follow sizes that are symbols. Throws UnknownElements where only a call knows
  // them.
  Dims ints(std::size_t i) const;
  Dim an_int(std::size_t i) const;
  std::vector<double> numbers(std::size_t i) const;
  double number(std::size_t i, double otherwise) const;  // otherwise: where it was left out
  bool knows(std::size_t i) const;                       // the elements?
  // The position of a dimension that may be counted from the end; throws OpError beyond the rank.
  int axis(std::int64_t given, int rank) const;
  std::vector<int> axes(std::span<const Dim> given, int rank) const;
  // What was once an attribute and is an input now.
  std::optional<Dims> ints_or_attribute(std::size_t i, std::string_view attribute) const;

  // ---- Attributes ----
  const AttributeProto* attribute(std::string_view name) const;  // null when it is not given
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string word(std::string_view name, std::string_view otherwise) const;
  std::optional<Dims> dims(std::string_view name) const;
  Dims dims(std::string_view name, std::size_t count, std::int64_t otherwise) const;
  std::optional<std::vector<float>> reals(std::string_view name) const;
  std::vector<std::string> words(std::string_view name) const;
  Tensor tensor(std::string_view name) const;  // absent when it is not given
  const GraphProto& graph(std::string_view name) const;
  Values run_graph(std::string_view name, Values arguments) const;

  // OpError (Value) of this node: "expects …".
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  Evaluator& evaluator_;
  NameScope& scope_;
  const NodeProto& node_;
  std::int64_t opset_;
};

// ---- Operators ----

using OperatorFn = Values (*)(Call& call);
struct Operator {
  std::string_view name;
  OperatorFn run;
  std::string_view domain = {};
};
// Null where Kiln has none of that name.
const Operator* find_operator(std::string_view domain, std::string_view name);

std::span<const Operator> elementwise_operators();
std::span<const Operator> logic_operators();
std::span<const Operator> reduce_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> create_operators();
std::span<const Operator> index_operators();
std::span<const Operator> product_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> pool_operators();
std::span<const Operator> norm_operators();
std::span<const Operator> flow_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> sample_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> quantize_operators();
std::span<const Operator> random_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> order_operators();
std::span<const Operator> training_operators();
std::span<const Operator> linear_attention_operators();
std::span<const Operator> block_operators();
std::span<const Operator> box_operators();
std::span<const Operator> feature_operators();
std::span<const Operator> tree_operators();

// The operator on numbers that follow sizes which are symbols; nothing where it has no such form.
std::optional<Value> on_sizes(Call& call);

// ---- Ops of Kiln by name ----

using NamedAttr = std::pair<std::string_view, Attr>;
Tensors apply_all(std::string_view op, Inputs inputs, std::initializer_list<NamedAttr> attrs = {});
Tensor apply(std::string_view op, std::initializer_list<Tensor> inputs,
             std::initializer_list<NamedAttr> attrs = {});
Tensor scalar(double value, DType dtype);  // 0-d
Tensor number_operand(Dim size);           // a number of the host program
// Whole numbers as an i64 tensor of rank 0 or 1, which are known, or follow sizes that are symbols.
Value numbers_value(const Dims& numbers, bool is_scalar = false);
Tensor tensor_of(const Value& value);  // numbers that follow sizes become nodes; absent for a sequence
Tensor whole_numbers(std::span<const std::int64_t> numbers);  // i64[n]
Tensor real_numbers(std::span<const float> numbers);          // f32[n]
// The only element as a number of the host program; its elements must be known.
Tensor number_of(const Tensor& x);
// Places along a dimension of this size, those below 0 counted from its end.
Tensor from_start(const Tensor& places, Dim size);
Dims to_dims(std::span<const std::int64_t> values);
Dims to_dims(const std::vector<int>& values);
// Of a type of the schema; throws OpError (DType) for one that Kiln has no elements of.
DType dtype_of(ElementType type);
Dim product(std::span<const Dim> sizes);

}  // namespace kiln::onnx
