#include "onnx/import/call.h"

#include "onnx/import/evaluator.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::onnx {

Call::Call(Evaluator& evaluator, NameScope& scope, const NodeProto& node, std::int64_t opset)
    : evaluator_(evaluator), scope_(scope), node_(node), opset_(opset) {}

void Call::refuse(const std::string& why) const { throw OpError(ErrorKind::Value, why); }

Tensor tensor_of(const Value& value) {
  if (!value.sizes) return value.tensor;
  std::vector<Tensor> numbers;
  for (const Dim each : *value.sizes) {
    numbers.push_back(ops::full(Dims{1}, number_operand(each), DType::I64));
  }
  if (numbers.empty()) return Tensor::empty(Dims{0}, DType::I64);
  const Tensor joined = ops::cat(numbers);
  return value.is_scalar ? ops::reshape(joined, {}) : joined;
}

Tensor Call::x(std::size_t i) const {
  if (!has(i)) refuse("needs its input " + std::to_string(i + 1));
  const Value& value = inputs[i];
  if (value.items) refuse("needs a tensor as its input " + std::to_string(i + 1) + ", not a sequence");
  return tensor_of(value);
}

std::vector<Tensor> Call::tensors() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) all.push_back(x(i));
  return all;
}

const Values& Call::items(std::size_t i) const {
  if (i >= inputs.size() || !inputs[i].items)
    refuse("needs a sequence as its input " + std::to_string(i + 1));
  return *inputs[i].items;
}

bool Call::knows(std::size_t i) const {
  const Value& value = inputs[i];
  return value.elements || (value.tensor && evaluator_.recording().is_known(value.tensor));
}

namespace {

// The elements of an input whose elements must be known.
Tensor elements_of(const Call& call, std::size_t i) {
  if (!call.has(i)) call.refuse("needs its input " + std::to_string(i + 1));
  const Value& value = call.inputs[i];
  if (value.elements) return value.elements;
  const Tensor x = call.x(i);
  const Recording& recording = call.evaluator().recording();
  if (recording.is_known(x)) return x;
  throw UnknownElements(
      "needs to know the elements of '" + call.node().inputs[i] + "' when the graph is made",
      recording.followed(std::span(&x, 1)));
}

template <class T>
std::vector<T> read(const Tensor& x, DType dtype) {
  const HostView view(x, dtype);
  const T* const first = view.as<T>();
  return {first, first + static_cast<std::size_t>(x.numel().known())};
}

}  // namespace

Dims Call::ints(std::size_t i) const {
  if (has(i) && inputs[i].sizes) return *inputs[i].sizes;
  return to_dims(read<std::int64_t>(elements_of(*this, i), DType::I64));
}

Dim Call::an_int(std::size_t i) const {
  const Dims all = ints(i);
  if (all.size() != 1) refuse("needs one number as its input " + std::to_string(i + 1));
  return all[0];
}

std::vector<double> Call::numbers(std::size_t i) const {
  return read<double>(elements_of(*this, i), DType::F64);
}

double Call::number(std::size_t i, double otherwise) const {
  if (!has(i)) return otherwise;
  const std::vector<double> all = numbers(i);
  if (all.size() != 1) refuse("needs one number as its input " + std::to_string(i + 1));
  return all[0];
}

int Call::axis(std::int64_t given, int rank) const {
  if (given < -rank || given >= std::max(rank, 1))
    refuse("has the axis " + std::to_string(given) + " and a tensor of rank " + std::to_string(rank));
  return static_cast<int>(given < 0 ? given + rank : given);
}

std::vector<int> Call::axes(std::span<const Dim> given, int rank) const {
  std::vector<int> all;
  for (const Dim each : given) all.push_back(axis(each.fixed(), rank));
  return all;
}

std::optional<Dims> Call::ints_or_attribute(std::size_t i, std::string_view name) const {
  return has(i) ? std::optional(ints(i)) : dims(name);
}

// ---- Attributes ----

const AttributeProto* Call::attribute(std::string_view name) const {
  const AttributeProto* found = node_.find(name);
  const NameScope* scope = &scope_;
  while (found != nullptr && !found->reference.empty()) {
    while (scope != nullptr && scope->function == nullptr) scope = scope->outer();
    if (scope == nullptr) return nullptr;
    const std::string& wanted = found->reference;
    found = scope->caller->find(wanted);
    if (found == nullptr) {
      for (const AttributeProto& each : scope->function->attributes_with_default) {
        if (each.name == wanted) return &each;
      }
      return nullptr;
    }
    scope = scope->caller_scope;
  }
  return found;
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : found->i;
}

double Call::real(std::string_view name, double otherwise) const {
  const AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : static_cast<double>(found->f);
}

std::string Call::word(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* found = attribute(name);
  return found == nullptr ? std::string(otherwise) : found->s;
}

std::optional<Dims> Call::dims(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  return to_dims(found->ints);
}

Dims Call::dims(std::string_view name, std::size_t count, std::int64_t otherwise) const {
  const std::optional<Dims> given = dims(name);
  if (!given) return Dims(count, otherwise);
  if (given->size() != count)
    refuse("has " + std::to_string(given->size()) + " numbers in '" + std::string(name) + "', and needs " +
           std::to_string(count));
  return *given;
}

std::optional<std::vector<float>> Call::reals(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  return found->floats;
}

std::vector<std::string> Call::words(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  return found == nullptr ? std::vector<std::string>() : found->strings;
}

Tensor Call::tensor(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr || found->tensors.empty()) return {};
  return to_tensor(found->tensors[0], evaluator_.external());
}

const GraphProto& Call::graph(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr || found->graphs.empty()) refuse("has no graph '" + std::string(name) + "'");
  return found->graphs[0];
}

Values Call::run_graph(std::string_view name, Values arguments) const {
  return evaluator_.run(graph(name), std::move(arguments), &scope_);
}

// ---- Ops of Kiln by name ----

Tensors apply_all(std::string_view op, Inputs inputs, std::initializer_list<NamedAttr> attrs) {
  const Op& row = OpTable::get().at(op);
  Attrs given(row);
  for (const auto& [name, value] : attrs) given.set(name, value);
  return kiln::bind(row, inputs, given);
}

Tensor apply(std::string_view op, std::initializer_list<Tensor> inputs,
             std::initializer_list<NamedAttr> attrs) {
  return apply_all(op, Inputs(inputs.begin(), inputs.size()), attrs)[0];
}

Tensor scalar(double value, DType dtype) { return ops::full({}, Tensor::number(value), dtype); }

Tensor number_operand(Dim size) {
  return size.is_known() ? Tensor::number(size.known()) : Tensor::symbol(size);
}

Tensor whole_numbers(std::span<const std::int64_t> numbers) {
  const Tensor made = Tensor::empty(Dims{static_cast<std::int64_t>(numbers.size())}, DType::I64);
  if (numbers.empty()) return made;
  const WritableHostView memory(made);
  std::copy(numbers.begin(), numbers.end(), memory.as<std::int64_t>());
  return made;
}

Tensor real_numbers(std::span<const float> numbers) {
  const Tensor made = Tensor::empty(Dims{static_cast<std::int64_t>(numbers.size())}, DType::F32);
  if (numbers.empty()) return made;
  const WritableHostView memory(made);
  std::copy(numbers.begin(), numbers.end(), memory.as<float>());
  return made;
}

Value numbers_value(const Dims& numbers, bool is_scalar) {
  std::vector<std::int64_t> known;
  for (const Dim each : numbers) {
    if (!each.is_known()) return Value::of_sizes(numbers, is_scalar);
    known.push_back(each.known());
  }
  const Tensor made = whole_numbers(known);
  return is_scalar ? ops::reshape(made, {}) : made;
}

Tensor number_of(const Tensor& x) {
  if (x.dtype() == DType::Bool) return Tensor::number(x.item_bool());
  return is_float(x.dtype()) ? Tensor::number(x.item_float()) : Tensor::number(x.item_int());
}

Tensor from_start(const Tensor& places, Dim size) {
  const Tensor whole = ops::to(places, DType::I64);
  const Tensor is_before = ops::lt(whole, Tensor::number(std::int64_t{0}));
  return ops::where(is_before, ops::add(whole, number_operand(size)), whole);
}

Dims to_dims(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }
Dims to_dims(const std::vector<int>& values) { return {values.begin(), values.end()}; }

Dim product(std::span<const Dim> sizes) {
  Dim all = 1;
  for (const Dim each : sizes) all *= each;
  return all;
}

DType dtype_of(ElementType type) {
  switch (type) {
    case ElementType::Float:
      return DType::F32;
    case ElementType::UInt8:
      return DType::U8;
    case ElementType::Int8:
      return DType::I8;
    case ElementType::Int16:
      return DType::I16;
    case ElementType::Int32:
      return DType::I32;
    case ElementType::Int64:
      return DType::I64;
    case ElementType::Bool:
      return DType::Bool;
    case ElementType::Float16:
      return DType::F16;
    case ElementType::Double:
      return DType::F64;
    case ElementType::BFloat16:
      return DType::BF16;
    case ElementType::UInt16:
      throw OpError(ErrorKind::DType, "Kiln has no dtype for unsigned integers of 16 bits");
    case ElementType::UInt32:
      throw OpError(ErrorKind::DType, "Kiln has no dtype for unsigned integers of 32 bits");
    case ElementType::UInt64:
      throw OpError(ErrorKind::DType, "Kiln has no dtype for unsigned integers of 64 bits");
    case ElementType::String:
      throw OpError(ErrorKind::DType, "Kiln has no tensors of strings");
    case ElementType::Complex64:
    case ElementType::Complex128:
      throw OpError(ErrorKind::DType, "Kiln has no dtype for complex numbers");
    default:
      break;
  }
  const auto code = static_cast<std::int32_t>(type);
  if (code >= 17 && code <= 20) throw OpError(ErrorKind::DType, "Kiln has no dtype for floats of 8 bits");
  if (code >= 21 && code <= 26)
    throw OpError(ErrorKind::DType, "Kiln has no dtype for elements of less than 8 bits");
  throw OpError(ErrorKind::DType, "the schema of ONNX has no element type " + std::to_string(code));
}

}  // namespace kiln::onnx
