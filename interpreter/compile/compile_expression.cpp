// Expressions over values and operators, and conditions as jumps.
#include <array>
#include <limits>

#include "interpreter/compile/compiler.h"
#include "interpreter/values/complex_number.h"

namespace kiln::interp {

using lang::as;
using lang::BinaryOp;
using lang::CompareOp;
using lang::Expr;
using lang::ExprKind;
using lang::Span;

namespace {

constexpr std::size_t kMaxPinned = 32;

bool fits_operand(std::int64_t value) {
  return value >= std::numeric_limits<std::int16_t>::min() &&
         value <= std::numeric_limits<std::int16_t>::max();
}

// A literal integer small enough to stand in an instruction, also when negated.
std::optional<std::int64_t> small_int(const Expr& e) {
  if (e.kind == ExprKind::Int) {
    const std::int64_t value = as<lang::IntExpr>(e).value;
    if (fits_operand(value)) return value;
  }
  if (e.kind == ExprKind::Unary) {
    const auto& unary = as<lang::UnaryExpr>(e);
    if (unary.op == lang::UnaryOp::Neg && unary.operand->kind == ExprKind::Int) {
      const std::int64_t value = as<lang::IntExpr>(*unary.operand).value;
      if (value <= std::numeric_limits<std::int16_t>::max()) return -value;
    }
  }
  return std::nullopt;
}

std::optional<Value> real_literal(const Expr& e) {
  if (e.kind == ExprKind::Int) return as<lang::IntExpr>(e).value;
  if (e.kind == ExprKind::Float) return as<lang::FloatExpr>(e).value;
  if (e.kind != ExprKind::Unary || as<lang::UnaryExpr>(e).op != lang::UnaryOp::Neg) return std::nullopt;
  const auto positive = real_literal(*as<lang::UnaryExpr>(e).operand);
  if (!positive) return std::nullopt;
  if (positive->is(Tag::Float)) return Value(-positive->as_float());
  if (positive->as_int() == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  return Value(-positive->as_int());
}

// `1+2j` and `-1-2j` are written numbers, whose sum or difference is computed here.
std::optional<Value> complex_literal(const lang::BinaryExpr& e) {
  const bool is_sum = e.op == BinaryOp::Add || e.op == BinaryOp::Sub;
  if (!is_sum || e.right->kind != ExprKind::Imaginary) return std::nullopt;
  const auto real = real_literal(*e.left);
  if (!real) return std::nullopt;
  return complex_operator(e.op, *real, complex_value(0, as<lang::ImaginaryExpr>(*e.right).value));
}

struct ArithmeticCode {
  Opcode registers;  // Binary where there is no instruction of its own
  Opcode number;     // Binary likewise
};

ArithmeticCode arithmetic(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return {Opcode::Add, Opcode::AddInt};
    case BinaryOp::Sub:
      return {Opcode::Sub, Opcode::SubInt};
    case BinaryOp::Mul:
      return {Opcode::Mul, Opcode::MulInt};
    case BinaryOp::Div:
      return {Opcode::Div, Opcode::Binary};
    case BinaryOp::FloorDiv:
      return {Opcode::FloorDiv, Opcode::Binary};
    case BinaryOp::Mod:
      return {Opcode::Mod, Opcode::ModInt};
    default:
      return {Opcode::Binary, Opcode::Binary};
  }
}

struct OrderCode {
  Opcode value, jump_if, jump_if_not, jump_if_int, jump_if_not_int;
};
#define KILN_ROW(name)                                                                      \
  OrderCode {                                                                               \
    Opcode::name, Opcode::JumpIf##name, Opcode::JumpIfNot##name, Opcode::JumpIf##name##Int, \
        Opcode::JumpIfNot##name##Int                                                        \
  }
constexpr std::array kOrders = {KILN_ROW(Eq), KILN_ROW(Ne), KILN_ROW(Lt),
                                KILN_ROW(Le), KILN_ROW(Gt), KILN_ROW(Ge)};
#undef KILN_ROW
bool is_order(CompareOp op) { return op <= CompareOp::Ge; }
const OrderCode& order(CompareOp op) { return kOrders[static_cast<std::size_t>(op)]; }

}  // namespace

Register FunctionCompiler::expression(const Expr& e, Want want) {
  switch (e.kind) {
    case ExprKind::Name:
      return read(as<lang::NameExpr>(e), want);
    case ExprKind::List:
      return sequence(as<lang::ListExpr>(e).items, false, e.span, want);
    case ExprKind::Tuple:
      return sequence(as<lang::TupleExpr>(e).items, true, e.span, want);
    case ExprKind::Dict:
      return dict(as<lang::DictExpr>(e), want);
    case ExprKind::Set:
      return set(as<lang::SetExpr>(e), want);
    case ExprKind::Comprehension:
      return comprehension(as<lang::ComprehensionExpr>(e), want);
    case ExprKind::Unary:
      return unary(as<lang::UnaryExpr>(e), want);
    case ExprKind::Binary:
      return binary(as<lang::BinaryExpr>(e), want);
    case ExprKind::Compare:
      return compare(as<lang::CompareExpr>(e), want);
    case ExprKind::Logical:
      return logical(as<lang::LogicalExpr>(e), want);
    case ExprKind::Conditional:
      return conditional(as<lang::ConditionalExpr>(e), want);
    case ExprKind::Function:
      return function(as<lang::FunctionExpr>(e), "", want);
    case ExprKind::Call:
      return call(as<lang::CallExpr>(e), want);
    case ExprKind::Attribute:
      return attribute(as<lang::AttributeExpr>(e), want);
    case ExprKind::Index:
      return index(as<lang::IndexExpr>(e), want);
    case ExprKind::Slice:
      return slice(as<lang::SliceExpr>(e), want);
    case ExprKind::FString:
      return format_text(as<lang::FStringExpr>(e), want);
    default:
      return literal(e, want);
  }
}

bool FunctionCompiler::writes_last(const Expr& e) {
  switch (e.kind) {
    case ExprKind::Logical:
      return false;
    case ExprKind::Compare:
      return as<lang::CompareExpr>(e).rest.size() == 1;
    case ExprKind::Conditional: {
      const auto& c = as<lang::ConditionalExpr>(e);
      return writes_last(*c.then) && writes_last(*c.otherwise);
    }
    default:
      return true;
  }
}

Register FunctionCompiler::literal(const Expr& e, Want want) {
  switch (e.kind) {
    case ExprKind::Int:
      return load_int(as<lang::IntExpr>(e).value, e.span, want);
    case ExprKind::Float:
      return load(as<lang::FloatExpr>(e).value, e.span, want);
    case ExprKind::Imaginary:
      return load(complex_value(0, as<lang::ImaginaryExpr>(e).value), e.span, want);
    case ExprKind::String:
      return load(Value(as<lang::StringExpr>(e).value), e.span, want);
    case ExprKind::Bool: {
      const Register dst = want ? *want : allocate();
      emit(Opcode::LoadBool, e.span, dst, as<lang::BoolExpr>(e).value ? 1 : 0);
      return dst;
    }
    case ExprKind::Ellipsis: {
      const Register dst = want ? *want : allocate();
      emit(Opcode::LoadEllipsis, e.span, dst);
      return dst;
    }
    default:
      return load_none(e.span, want);
  }
}

Register FunctionCompiler::load(Value value, Span span, Want want) {
  const Register dst = want ? *want : allocate();
  emit_wide(Opcode::LoadConstant, span, dst, static_cast<std::int32_t>(constant(std::move(value))));
  return dst;
}

Register FunctionCompiler::load_int(std::int64_t value, Span span, Want want) {
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    return load(value, span, want);
  }
  const Register dst = want ? *want : allocate();
  emit_wide(Opcode::LoadInt, span, dst, static_cast<std::int32_t>(value));
  return dst;
}

Register FunctionCompiler::load_none(Span span, Want want) {
  const Register dst = want ? *want : allocate();
  emit(Opcode::LoadNone, span, dst);
  return dst;
}

Register FunctionCompiler::operand(const Expr& e) {
  const bool negative = e.kind == ExprKind::Unary && as<lang::UnaryExpr>(e).op == lang::UnaryOp::Neg;
  const Expr& literal = negative ? *as<lang::UnaryExpr>(e).operand : e;
  if (loops_.empty() || pinned_.size() >= kMaxPinned) return expression(e);
  if (literal.kind == ExprKind::Float) {
    const double value = as<lang::FloatExpr>(literal).value;
    return pinned(negative ? -value : value);
  }
  if (literal.kind == ExprKind::Int) {
    const std::int64_t value = as<lang::IntExpr>(literal).value;
    return pinned(negative ? -value : value);
  }
  return expression(e);
}

Register FunctionCompiler::unary(const lang::UnaryExpr& e, Want want) {
  if (e.op == lang::UnaryOp::Neg) {
    if (e.operand->kind == ExprKind::Int) return load_int(-as<lang::IntExpr>(*e.operand).value, e.span, want);
    if (e.operand->kind == ExprKind::Float) return load(-as<lang::FloatExpr>(*e.operand).value, e.span, want);
    if (e.operand->kind == ExprKind::Imaginary)
      return load(complex_value(-0.0, -as<lang::ImaginaryExpr>(*e.operand).value), e.span, want);
  }
  constexpr std::array kCodes = {Opcode::Negate, Opcode::Positive, Opcode::Invert, Opcode::Not};
  const Register mark = top_;
  const Register operand = expression(*e.operand);
  const Register dst = settle(want, mark);
  emit_with_operands(kCodes[static_cast<std::size_t>(e.op)], e.span, dst, operand, 0, {e.operand});
  return dst;
}

Register FunctionCompiler::binary(const lang::BinaryExpr& e, Want want) {
  if (const auto written = complex_literal(e)) return load(*written, e.span, want);
  const Register mark = top_;
  const ArithmeticCode code = arithmetic(e.op);
  const Register left = operand(*e.left);
  if (const auto number = small_int(*e.right); number && code.number != Opcode::Binary) {
    const Register dst = settle(want, mark);
    emit_with_operands(code.number, e.op_span, dst, left, static_cast<std::uint16_t>(*number),
                       {e.left, e.right});
    return dst;
  }
  const Register right = operand(*e.right);
  const Register dst = settle(want, mark);
  emit_with_operands(code.registers, e.op_span, dst, left, right, {e.left, e.right});
  if (code.registers == Opcode::Binary) emit(Opcode::Word, e.op_span, static_cast<std::uint32_t>(e.op));
  return dst;
}

void FunctionCompiler::compare_link(CompareOp op, Span span, Register dst, Register left, Register right,
                                    const Expr& left_expr, const Expr& right_expr) {
  const Opcode code = is_order(op) ? order(op).value : Opcode::Compare;
  emit_with_operands(code, span, dst, left, right, {&left_expr, &right_expr});
  if (!is_order(op)) emit(Opcode::Word, span, static_cast<std::uint32_t>(op));
}

// `a < b < c`: each middle operand is evaluated once and copied for the next link.
Register FunctionCompiler::compare(const lang::CompareExpr& e, Want want) {
  const Register mark = top_;
  if (e.rest.size() == 1) {
    const Register left = expression(*e.first);
    const Register right = expression(*e.rest[0].operand);
    const Register dst = settle(want, mark);
    compare_link(e.rest[0].op, e.rest[0].op_span, dst, left, right, *e.first, *e.rest[0].operand);
    return dst;
  }
  const Register dst = want && is_temporary(*want) ? *want : allocate();
  const Register first = top_;
  Register left = expression(*e.first);
  const Expr* left_expr = e.first;
  Jumps done;
  Flow before;
  for (std::size_t i = 0; i < e.rest.size(); ++i) {
    const lang::CompareLink& link = e.rest[i];
    const bool last = i + 1 == e.rest.size();
    const Register right = expression(*link.operand);
    const Register kept = last ? right : allocate();
    if (!last) emit(Opcode::Copy, link.operand->span, kept, right);
    compare_link(link.op, link.op_span, dst, left, right, *left_expr, *link.operand);
    if (i == 0) before = flow();
    if (last) break;
    done.at.push_back(emit_wide(Opcode::ChainLink, e.span, dst, 0));
    left = kept;
    left_expr = link.operand;
  }
  // A link that failed leaves the next operand behind.
  const std::size_t over = emit_wide(Opcode::Jump, e.span, 0, 0);
  patch_all(done);
  for (Register r = first; r < top_; ++r) emit(Opcode::Drop, e.span, r);
  patch(over, here());
  restore(before);
  top_ = mark;
  if (!want) return allocate();
  if (*want != dst) emit(Opcode::Take, e.span, *want, dst);
  return *want;
}

Register FunctionCompiler::logical(const lang::LogicalExpr& e, Want want) {
  const Register mark = top_;
  const Register dst = want && is_temporary(*want) ? *want : allocate();
  expression(*e.left, dst);
  const Opcode code = e.op == lang::LogicalOp::And ? Opcode::JumpIfFalseKeep : Opcode::JumpIfTrueKeep;
  const std::size_t jump = emit_wide(code, e.left->span, dst, 0);
  const Flow before = flow();
  expression(*e.right, dst);
  patch(jump, here());
  restore(before);
  top_ = mark;
  if (!want) return allocate();
  if (*want != dst) emit(Opcode::Take, e.span, *want, dst);
  return *want;
}

Register FunctionCompiler::conditional(const lang::ConditionalExpr& e, Want want) {
  const Register mark = top_;
  const Register dst = want ? *want : allocate();
  Jumps otherwise;
  jump_if(*e.condition, false, otherwise);
  const Flow before = flow();
  expression(*e.then, dst);
  const std::size_t end = emit_wide(Opcode::Jump, e.span, 0, 0);
  patch_all(otherwise);
  restore(before);
  expression(*e.otherwise, dst);
  patch(end, here());
  restore(before);
  top_ = mark;
  return want ? *want : allocate();
}

void FunctionCompiler::jump_if(const Expr& e, bool when, Jumps& jumps) {
  const Register mark = top_;
  if (e.kind == ExprKind::Unary && as<lang::UnaryExpr>(e).op == lang::UnaryOp::Not) {
    return jump_if(*as<lang::UnaryExpr>(e).operand, !when, jumps);
  }
  if (e.kind == ExprKind::Bool) {
    if (as<lang::BoolExpr>(e).value == when) jumps.at.push_back(emit_wide(Opcode::Jump, e.span, 0, 0));
    return;
  }
  if (e.kind == ExprKind::Logical) {
    const auto& logical = as<lang::LogicalExpr>(e);
    const bool decides = logical.op == lang::LogicalOp::Or;  // the value of left that decides the whole
    Jumps skip;
    jump_if(*logical.left, decides, decides == when ? jumps : skip);
    const Flow before = flow();
    jump_if(*logical.right, when, jumps);
    restore(before);
    patch_all(skip);
    return;
  }
  if (e.kind == ExprKind::Compare) {
    const auto& compare = as<lang::CompareExpr>(e);
    if (compare.rest.size() == 1 && is_order(compare.rest[0].op))
      return jump_if_compare(compare, when, jumps);
  }
  const Register value = expression(e);
  top_ = mark;
  jumps.at.push_back(emit_wide(when ? Opcode::JumpIfTrue : Opcode::JumpIfFalse, e.span, value, 0));
  note_operand(e);
}

void FunctionCompiler::jump_if_compare(const lang::CompareExpr& e, bool when, Jumps& jumps) {
  const Register mark = top_;
  const OrderCode& code = order(e.rest[0].op);
  const Expr& right_expr = *e.rest[0].operand;
  const Register left = expression(*e.first);
  jumps.at.push_back(here());
  if (const auto number = small_int(right_expr)) {
    emit_with_operands(when ? code.jump_if_int : code.jump_if_not_int, e.rest[0].op_span, left,
                       static_cast<std::uint16_t>(*number), 0, {e.first, &right_expr});
  } else {
    jumps.at.pop_back();
    const Register right = operand(right_expr);
    jumps.at.push_back(here());
    emit_with_operands(when ? code.jump_if : code.jump_if_not, e.rest[0].op_span, left, right, 0,
                       {e.first, &right_expr});
  }
  top_ = mark;
}

Register FunctionCompiler::attribute(const lang::AttributeExpr& e, Want want) {
  const Register mark = top_;
  const Register object = expression(*e.object);
  const Register dst = settle(want, mark);
  emit_with_operands(Opcode::GetAttribute, e.span, dst, object, site(e.name), {e.object});
  return dst;
}

Register FunctionCompiler::index_key(const lang::IndexExpr& e) {
  if (e.items.size() == 1 && !e.is_tuple) return expression(*e.items[0]);
  return sequence(e.items, true, e.span, {});
}

Register FunctionCompiler::index(const lang::IndexExpr& e, Want want) {
  const Register mark = top_;
  const Register object = expression(*e.object);
  const Register key = index_key(e);
  const Register dst = settle(want, mark);
  emit_with_operands(Opcode::GetIndex, e.span, dst, object, key, {e.object});
  for (const Expr* item : e.items) note_operand(*item);
  return dst;
}

Register FunctionCompiler::slice(const lang::SliceExpr& e, Want want) {
  const Register mark = top_;
  const Register first = allocate(3);
  const std::array<const Expr*, 3> parts = {e.start, e.stop, e.step};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto at = static_cast<Register>(first + i);
    if (parts[i]) {
      expression(*parts[i], at);
    } else {
      load_none(e.span, at);
    }
  }
  const Register dst = settle(want, mark);
  emit(Opcode::BuildSlice, e.span, dst, first);
  return dst;
}

}  // namespace kiln::interp
