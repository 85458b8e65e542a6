// Operators on numbers, and on tensors with numbers as operands.
#include <array>
#include <cmath>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/values/arithmetic.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/operators.h"
#include "tensor/op.h"
#include "tensor/operators.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using jit::Operand;
using Kind = FlowItem::Kind;
using lang::BinaryOp;
using lang::UnaryOp;

namespace {

bool is_bits(BinaryOp op) {
  return op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor;
}

// Sizes have no overflow, so sums and products of them stay expressions.
std::optional<FlowItem> of_sizes(BinaryOp op, const FlowItem& a, const FlowItem& b) {
  if (!a.operand.is_number() || !b.operand.is_number()) return std::nullopt;
  const Dim x = std::get<Dim>(a.operand.number), y = std::get<Dim>(b.operand.number);
  const auto given = [](Dim size) { return FlowItem::number(DType::I64, Operand::of_number(size)); };
  if (op == BinaryOp::Add) return given(x + y);
  if (op == BinaryOp::Sub) return given(x - y);
  if (op == BinaryOp::Mul) return given(x * y);
  return std::nullopt;
}

}  // namespace

const Op& operator_row(std::string_view spelling, int operands) {
  const Op* op = operator_on_tensors(spelling, operands);
  if (op == nullptr) throw Unsupported{"`" + std::string(spelling) + "` of tensors"};
  return *op;
}

FlowItem FlowReader::forced(const FlowItem& item) {
  if (!item.is(Kind::Known)) return item;
  if (item.known.is_number()) {
    return item.source < 0 ? FlowItem::constant(item.known) : inputs_.input(item.known, item.source);
  }
  if (!item.known.is(Tag::Tensor)) return item;
  if (item.source < 0) throw Unsupported{"a tensor that is part of the code"};
  return inputs_.input(item.known, item.source);
}

FlowItem FlowReader::as_int(const FlowItem& number) {
  if (number.dtype == DType::I64) return number;
  if (number.is_literal()) return FlowItem::constant(std::int64_t{number.literal().as_bool()});
  return notes_.apply(NumberOp::ToInt, DType::I64, {number}, false);
}

FlowItem FlowReader::as_float(const FlowItem& number) {
  if (number.dtype == DType::F64) return number;
  if (number.is_literal()) return FlowItem::constant(number.literal().number());
  return notes_.apply(NumberOp::ToFloat, DType::F64, {number}, false);
}

FlowItem FlowReader::truth(const FlowItem& item) {
  FlowItem x = forced(item);
  if (x.is(Kind::Tensor)) x = notes_.item(x.tensor);
  if (x.is(Kind::Number)) {
    if (x.dtype == DType::Bool) return x;
    if (x.is_literal()) return FlowItem::constant(x.literal().number() != 0);
    return notes_.apply(NumberOp::ToBool, DType::Bool, {x}, false);
  }
  if (x.is_none() && x.source < 0) return FlowItem::constant(false);
  throw Unsupported{"a condition on " + text_of(x)};
}

FlowItem FlowReader::negated(const FlowItem& condition) {
  if (condition.is_literal()) return FlowItem::constant(!condition.literal().as_bool());
  return notes_.apply(NumberOp::Not, DType::Bool, {condition}, false);
}

// ---- Of two ----

FlowItem FlowReader::binary(BinaryOp op, const FlowItem& left, const FlowItem& right) {
  const FlowItem a = forced(left), b = forced(right);
  if (a.is(Kind::Number) && b.is(Kind::Number)) return numbers_binary(op, a, b);
  const bool has_tensor = a.is(Kind::Tensor) || b.is(Kind::Tensor);
  const auto is_operand = [](const FlowItem& x) { return x.is(Kind::Tensor) || x.is(Kind::Number); };
  if (!has_tensor || !is_operand(a) || !is_operand(b))
    throw Unsupported{"`" + std::string(spelling(op)) + "` of " + text_of(a) + " and " + text_of(b)};
  const Op& row = operator_row(spelling(op), 2);
  const std::array<Tensor, 2> inputs = {operand_tensor(a), operand_tensor(b)};
  return result_of(Value(kiln::bind(row, inputs, Attrs(row))[0]));
}

// A number as an operand of an op: one of the flow is known by its tensor.
Tensor FlowReader::operand_tensor(const FlowItem& item) {
  if (item.is(Kind::Tensor)) return item.tensor;
  if (item.is_int()) {
    const Dim size = notes_.size_of(item);
    return size.is_known() ? Tensor::number(size.known()) : Tensor::symbol(size);
  }
  if (!item.is_literal()) return notes_.number_tensor(item);
  return number_as_operand(item.literal());
}

FlowItem FlowReader::numbers_binary(BinaryOp op, FlowItem a, FlowItem b) {
  if (a.is_literal() && b.is_literal())
    return FlowItem::constant(number_operator(op, a.literal(), b.literal()));
  if (a.dtype == DType::F64 || b.dtype == DType::F64) return floats_binary(op, as_float(a), as_float(b));
  if (is_bits(op) && a.dtype == DType::Bool && b.dtype == DType::Bool) {
    const NumberOp own = op == BinaryOp::BitAnd  ? NumberOp::And
                         : op == BinaryOp::BitOr ? NumberOp::Or
                                                 : NumberOp::Xor;
    return notes_.apply(own, DType::Bool, {a, b}, false);
  }
  return ints_binary(op, as_int(a), as_int(b));
}

FlowItem FlowReader::floats_binary(BinaryOp op, const FlowItem& a, const FlowItem& b) {
  const auto apply = [&](NumberOp own, bool may_fail) {
    return notes_.apply(own, DType::F64, {a, b}, may_fail);
  };
  switch (op) {
    case BinaryOp::Add:
      return apply(NumberOp::Add, false);
    case BinaryOp::Sub:
      return apply(NumberOp::Sub, false);
    case BinaryOp::Mul:
      return apply(NumberOp::Mul, false);
    case BinaryOp::Div:
      return apply(NumberOp::Div, true);
    case BinaryOp::FloorDiv:
      return apply(NumberOp::FloorDiv, true);
    case BinaryOp::Mod:
      return apply(NumberOp::Mod, true);
    case BinaryOp::Pow:
      return apply(NumberOp::Pow, true);
    default:
      throw Unsupported{"`" + std::string(spelling(op)) + "` of floats"};
  }
}

FlowItem FlowReader::ints_binary(BinaryOp op, const FlowItem& a, const FlowItem& b) {
  if (const auto sizes = of_sizes(op, a, b)) return *sizes;
  const auto apply = [&](NumberOp own, bool may_fail, std::int64_t hint = FlowNotes::kAnyHint) {
    return notes_.apply(own, DType::I64, {a, b}, may_fail, hint);
  };
  const std::int64_t x = notes_.hint_of(a), y = notes_.hint_of(b);
  std::int64_t hint = 0;
  const auto fitting = [&hint](bool overflows) { return overflows ? FlowNotes::kAnyHint : hint; };
  switch (op) {
    case BinaryOp::Add:
      return apply(NumberOp::Add, true, fitting(__builtin_add_overflow(x, y, &hint)));
    case BinaryOp::Sub:
      return apply(NumberOp::Sub, true, fitting(__builtin_sub_overflow(x, y, &hint)));
    case BinaryOp::Mul:
      return apply(NumberOp::Mul, true, fitting(__builtin_mul_overflow(x, y, &hint)));
    case BinaryOp::FloorDiv:
      return apply(NumberOp::FloorDiv, true);
    case BinaryOp::Mod:
      return apply(NumberOp::Mod, true);
    case BinaryOp::Div:
      return notes_.apply(NumberOp::Div, DType::F64, {a, b}, true);
    case BinaryOp::Pow:
      if (b.is_literal() && *b.literal_int() < 0) return floats_binary(op, as_float(a), as_float(b));
      return apply(NumberOp::Pow, true);
    case BinaryOp::BitAnd:
      return apply(NumberOp::And, false);
    case BinaryOp::BitOr:
      return apply(NumberOp::Or, false);
    case BinaryOp::BitXor:
      return apply(NumberOp::Xor, false);
    case BinaryOp::ShiftLeft:
      return apply(NumberOp::ShiftLeft, true);
    case BinaryOp::ShiftRight:
      return apply(NumberOp::ShiftRight, true);
    default:
      throw Unsupported{"`" + std::string(spelling(op)) + "` of ints"};
  }
}

void FlowReader::augmented(BinaryOp op, std::uint32_t target, const FlowItem& value) {
  const FlowItem now = forced(reg(target)), other = forced(value);
  if (now.known.is(Tag::List) && op == BinaryOp::Add && other.is(Kind::List)) {
    for (const FlowItem& each : other.parts) append(now, each);
    return;
  }
  if (!now.is(Kind::Tensor)) {
    reg(target) = binary(op, now, other);
    return;
  }
  if (!other.is(Kind::Tensor) && !other.is(Kind::Number))
    throw Unsupported{"`" + std::string(spelling(op)) + "=` of " + text_of(other)};
  const Op& row = operator_row(spelling(op), 2);
  if (!row.has(kInplace)) throw Unsupported{"`" + std::string(spelling(op)) + "=` of tensors"};
  const std::array<Tensor, 2> inputs = {now.tensor, operand_tensor(other)};
  note_write(now.tensor);
  kiln::bind_inplace(row, inputs, Attrs(row));
}

// ---- Of one ----

FlowItem FlowReader::unary(UnaryOp op, const FlowItem& item) {
  const FlowItem x = forced(item);
  if (x.is(Kind::Tensor)) {
    if (op == UnaryOp::Pos) return x;
    const Op& row = operator_row(spelling(op), 1);
    return result_of(Value(kiln::bind(row, {&x.tensor, 1}, Attrs(row))[0]));
  }
  if (!x.is(Kind::Number)) throw Unsupported{"`" + std::string(spelling(op)) + "` of " + text_of(x)};
  if (x.is_literal()) return FlowItem::constant(unary_operator(vm_.interpreter(), op, x.literal()));
  const bool is_real = x.dtype == DType::F64;
  if (op == UnaryOp::Pos) return is_real ? x : as_int(x);
  if (op == UnaryOp::Neg) {
    if (is_real) return notes_.apply(NumberOp::Negate, DType::F64, {x}, false);
    const FlowItem whole = as_int(x);
    const std::int64_t hint = notes_.hint_of(whole);
    return notes_.apply(NumberOp::Negate, DType::I64, {whole}, true, hint == INT64_MIN ? 0 : -hint);
  }
  if (x.dtype == DType::Bool) return negated(x);
  if (op != UnaryOp::Invert || is_real) throw Unsupported{"`" + std::string(spelling(op)) + "` of a float"};
  return notes_.apply(NumberOp::Invert, DType::I64, {x}, false, ~notes_.hint_of(x));
}

FlowItem FlowReader::extreme(bool greatest, const FlowItem& a, const FlowItem& b) {
  if (a.dtype != b.dtype) throw Unsupported{"the least or greatest of an int and a float"};
  const NumberOp op = greatest ? NumberOp::Maximum : NumberOp::Minimum;
  std::int64_t hint = FlowNotes::kAnyHint;
  if (a.is_int()) {
    const std::int64_t x = notes_.hint_of(a), y = notes_.hint_of(b);
    hint = greatest ? std::max(x, y) : std::min(x, y);
  }
  return notes_.apply(op, a.dtype, {a, b}, false, hint);
}

}  // namespace kiln::interp::capture
