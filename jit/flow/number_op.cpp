// The ops of numbers, which are in no table: nodes name them as they name rows.
#include <charconv>
#include <deque>

#include <fmt/format.h>

#include "jit/flow/number_value.h"

namespace kiln::jit {
namespace {

// Of which kinds operands are, and the result.
enum class Kinds : std::uint8_t {
  Numbers,     // ints or floats, as the result
  ToFloat,     // ints or floats, a float
  Ints,        // as the result
  Bits,        // ints or bools, as the result
  Compared,    // of any kind, all of one: a bool
  Chosen,      // of any kind, all of one, as the result
  Bool,        // as the result
  FromWhole,   // an int or a bool, a float
  ToWhole,     // a bool or a float, an int
  Truth,       // an int or a float, a bool
  Selected,    // a bool, and two of one kind, as the result
  OneElement,  // a tensor, the kind of its dtype
  Floats,      // any number of them, a float
};

struct Row {
  NumberOp op;
  const char* signature;
  Kinds kinds;
};
// In the order of NumberOp.
constexpr Row kRows[] = {
    {NumberOp::Add, "number.add(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::Sub, "number.sub(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::Mul, "number.mul(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::Div, "number.div(a: tensor, b: tensor)", Kinds::ToFloat},
    {NumberOp::FloorDiv, "number.floor_div(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::Mod, "number.mod(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::Pow, "number.pow(a: tensor, b: tensor)", Kinds::Numbers},
    {NumberOp::And, "number.and(a: tensor, b: tensor)", Kinds::Bits},
    {NumberOp::Or, "number.or(a: tensor, b: tensor)", Kinds::Bits},
    {NumberOp::Xor, "number.xor(a: tensor, b: tensor)", Kinds::Bits},
    {NumberOp::Invert, "number.invert(a: tensor)", Kinds::Ints},
    {NumberOp::ShiftLeft, "number.shift_left(a: tensor, b: tensor)", Kinds::Ints},
    {NumberOp::ShiftRight, "number.shift_right(a: tensor, b: tensor)", Kinds::Ints},
    {NumberOp::Negate, "number.negate(a: tensor)", Kinds::Numbers},
    {NumberOp::Absolute, "number.absolute(a: tensor)", Kinds::Numbers},
    {NumberOp::Minimum, "number.minimum(a: tensor, b: tensor)", Kinds::Chosen},
    {NumberOp::Maximum, "number.maximum(a: tensor, b: tensor)", Kinds::Chosen},
    {NumberOp::Equal, "number.equal(a: tensor, b: tensor)", Kinds::Compared},
    {NumberOp::NotEqual, "number.not_equal(a: tensor, b: tensor)", Kinds::Compared},
    {NumberOp::Less, "number.less(a: tensor, b: tensor)", Kinds::Compared},
    {NumberOp::LessEqual, "number.less_equal(a: tensor, b: tensor)", Kinds::Compared},
    {NumberOp::Not, "number.not(a: tensor)", Kinds::Bool},
    {NumberOp::ToFloat, "number.to_float(a: tensor)", Kinds::FromWhole},
    {NumberOp::ToInt, "number.to_int(a: tensor)", Kinds::ToWhole},
    {NumberOp::ToBool, "number.to_bool(a: tensor)", Kinds::Truth},
    {NumberOp::Select, "number.select(condition: tensor, a: tensor, b: tensor)", Kinds::Selected},
    {NumberOp::Item, "number.item(x: tensor)", Kinds::OneElement},
    {NumberOp::Index, "number.index(a: tensor, size: tensor)", Kinds::Ints},
    {NumberOp::SliceBound, "number.slice_bound(a: tensor, size: tensor)", Kinds::Ints},
    {NumberOp::Call, "number.call(xs: tensors, function: str)", Kinds::Floats},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].op != static_cast<NumberOp>(i)) return false;
  return std::size(kRows) == static_cast<std::size_t>(NumberOp::Call) + 1;
}());

DType kind_of(DType dtype) {
  if (dtype == DType::Bool) return dtype;
  return is_float(dtype) ? DType::F64 : DType::I64;
}

// The kind of the result; nothing where operands of the kind `first` are not taken.
std::optional<DType> result_kind(Kinds kinds, DType first) {
  const bool is_int = first == DType::I64, is_float = first == DType::F64, is_bool = first == DType::Bool;
  const auto where = [](bool taken, DType result) { return taken ? std::optional(result) : std::nullopt; };
  switch (kinds) {
    case Kinds::Numbers:
      return where(is_int || is_float, first);
    case Kinds::ToFloat:
      return where(is_int || is_float, DType::F64);
    case Kinds::Ints:
      return where(is_int, first);
    case Kinds::Bits:
      return where(is_int || is_bool, first);
    case Kinds::Compared:
      return DType::Bool;
    case Kinds::Bool:
      return where(is_bool, first);
    case Kinds::FromWhole:
      return where(is_int || is_bool, DType::F64);
    case Kinds::ToWhole:
      return where(is_float || is_bool, DType::I64);
    case Kinds::Truth:
      return where(is_int || is_float, DType::Bool);
    case Kinds::Floats:
      return where(is_float, first);
    default:
      return first;
  }
}

[[noreturn]] void refuse(const Op& op, std::span<const TensorType> types) {
  std::string given;
  for (const TensorType& each : types) given += (given.empty() ? "" : ", ") + kiln::to_string(each);
  throw OpError(ErrorKind::Type, fmt::format("{} does not take {}", op.name(), given));
}

std::vector<TensorType> infer_number(std::span<const TensorType> types, const Attrs& attrs) {
  const Op& op = *attrs.op();
  const Kinds kinds = kRows[static_cast<std::size_t>(*number_op_of(op))].kinds;
  if (types.empty()) refuse(op, types);
  if (kinds == Kinds::OneElement) return {{kind_of(types[0].dtype), Device{}, {}, true}};
  const std::size_t first = kinds == Kinds::Selected ? 1 : 0;
  if (first == 1 && types[0].dtype != DType::Bool) refuse(op, types);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool is_alike = i < first || types[i].dtype == types[first].dtype;
    if (!types[i].is_number || !is_alike) refuse(op, types);
  }
  const std::optional<DType> kind = result_kind(kinds, types[first].dtype);
  if (!kind) refuse(op, types);
  return {{*kind, Device{}, {}, true}};
}

Tensors call_number(const Op& op, Inputs inputs, const Attrs& attrs) {
  const NumberOp number = *number_op_of(op);
  if (number == NumberOp::Item) return {to_tensor(to_number(inputs[0]))};
  if (number == NumberOp::Call) {
    const Op& row = OpTable::get().at(attrs.get<std::string>("function"));
    return kiln::bind(row, inputs, Attrs(row));
  }
  SmallVector<FlowNumber, 3> operands;
  for (const Tensor& each : inputs) operands.push_back(to_number(each));
  const std::optional<FlowNumber> result = compute(number, {operands.data(), operands.size()});
  if (!result) {
    throw OpError(ErrorKind::Value, std::string(op.name()) + ": the result is no number of its kind");
  }
  return {to_tensor(*result)};
}

// The ops, by NumberOp. They never move.
const std::deque<Op>& all_ops() {
  static const auto* const all = [] {
    auto* ops = new std::deque<Op>();
    for (const Row& row : kRows) {
      Op& op = ops->emplace_back();
      op.signature = Signature::parse(row.signature);
      op.infer = infer_number;
      op.call = call_number;
    }
    return ops;
  }();
  return *all;
}

}  // namespace

std::string symbol_of(ValueId number) { return fmt::format("n{}", number); }

std::optional<ValueId> number_of(const std::string& symbol) {
  ValueId id = 0;
  const char* const end = symbol.data() + symbol.size();
  if (symbol.size() < 2 || symbol[0] != 'n' || std::from_chars(symbol.data() + 1, end, id).ptr != end)
    return std::nullopt;
  return id;
}

const Op& number_op(NumberOp op) { return all_ops()[static_cast<std::size_t>(op)]; }

std::optional<NumberOp> number_op_of(const Op& op) {
  if (op.infer != infer_number) return std::nullopt;
  const auto& ops = all_ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (&ops[i] == &op) return static_cast<NumberOp>(i);
  }
  return std::nullopt;
}

}  // namespace kiln::jit
