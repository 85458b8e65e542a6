#include "interpreter/vm/tensor_operators.h"

#include <array>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/errors.h"
#include "tensor/functions.h"
#include "tensor/op.h"
#include "tensor/operators.h"

namespace kiln::interp {
namespace {

using lang::BinaryOp;
using lang::CompareOp;
using lang::UnaryOp;

// An op with its attributes at their defaults, looked up once.
struct Operator {
  const Op* op = nullptr;
  Attrs attrs;

  Operator(std::string_view spelling, int operands) : op(operator_on_tensors(spelling, operands)) {
    if (op) attrs = Attrs(*op);
  }
  const Op& get(std::string_view spelling) const {
    if (op) return *op;
    raise("TypeError", "`" + std::string(spelling) + "` does not work on tensors");
  }
};

// Those of an enumeration of the syntax tree, by their values; `last` is the last one.
template <class E>
std::vector<Operator> operators(E last, int operands) {
  std::vector<Operator> found;
  for (int i = 0; i <= static_cast<int>(last); ++i)
    found.emplace_back(lang::spelling(static_cast<E>(i)), operands);
  return found;
}

const Operator& binary(BinaryOp op) {
  static const std::vector<Operator> kOperators = operators(BinaryOp::ShiftRight, 2);
  return kOperators[static_cast<std::size_t>(op)];
}

const Operator& comparison(CompareOp op) {
  static const std::vector<Operator> kOperators = operators(CompareOp::IsNot, 2);
  return kOperators[static_cast<std::size_t>(op)];
}

const Operator& unary(UnaryOp op) {
  static const std::vector<Operator> kOperators = operators(UnaryOp::Not, 1);
  return kOperators[static_cast<std::size_t>(op)];
}

kiln::Tensor operand(const Value& v) { return v.is(Tag::Tensor) ? v.tensor() : number_operand(v); }

bool is_operand(const Value& v) { return v.is(Tag::Tensor) || is_any_number(v); }

[[noreturn]] void refuse(std::string_view spelling, const Value& a, const Value& b) {
  const Value& other = a.is(Tag::Tensor) ? b : a;
  const bool data = other.is(Tag::List) || other.is(Tag::Tuple);
  raise("TypeError",
        "`" + std::string(spelling) + "` does not work on " + describe(a) + " and " + describe(b),
        data ? "make it a tensor first: `tensor(…)`" : help_with_none(other));
}

}  // namespace

Value tensor_binary(BinaryOp op, const Value& a, const Value& b) {
  if (!is_operand(a) || !is_operand(b)) refuse(spelling(op), a, b);
  const Operator& row = binary(op);
  const std::array<kiln::Tensor, 2> inputs = {operand(a), operand(b)};
  return Value::adopt(std::move(kiln::bind(row.get(spelling(op)), inputs, row.attrs)[0]));
}

Value tensor_compare(CompareOp op, const Value& a, const Value& b) {
  if (!is_operand(a) || !is_operand(b)) {
    if (op == CompareOp::Eq) return false;
    if (op == CompareOp::Ne) return true;
    refuse(spelling(op), a, b);
  }
  const Operator& row = comparison(op);
  const std::array<kiln::Tensor, 2> inputs = {operand(a), operand(b)};
  return Value::adopt(std::move(kiln::bind(row.get(spelling(op)), inputs, row.attrs)[0]));
}

Value tensor_unary(UnaryOp op, const Value& x) {
  if (op == UnaryOp::Pos) return x;
  const Operator& row = unary(op);
  const kiln::Tensor input = x.tensor();
  return Value::adopt(std::move(kiln::bind(row.get(spelling(op)), {&input, 1}, row.attrs)[0]));
}

void tensor_augmented(BinaryOp op, const Value& target, const Value& value) {
  if (!is_operand(value)) refuse(std::string(spelling(op)) + "=", target, value);
  const Operator& row = binary(op);
  const Op& found = row.get(spelling(op));
  if (!found.has(kInplace)) {
    raise("TypeError",
          "`" + std::string(spelling(op)) + "=` cannot write into a tensor: the result has another shape",
          "write `x = x " + std::string(spelling(op)) + " …`");
  }
  const std::array<kiln::Tensor, 2> inputs = {target.tensor(), operand(value)};
  kiln::bind_inplace(found, inputs, row.attrs);
}

bool tensor_contains(const Value& x, const Value& item) {
  if (!is_operand(item)) return false;
  const Value equal = tensor_compare(CompareOp::Eq, x, item);
  return ops::any(equal.tensor()).item_bool();
}

}  // namespace kiln::interp
