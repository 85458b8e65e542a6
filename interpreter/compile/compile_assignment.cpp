// Assignment to variables, fields, items and patterns; assignment in place.
#include <algorithm>
#include <utility>

#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::as;
using lang::BinaryOp;
using lang::Expr;
using lang::ExprKind;
using lang::Span;

void FunctionCompiler::assign(const lang::AssignStmt& s) {
  if (assign_pairwise(s)) return;
  if (s.targets.size() == 1 && s.targets[0]->kind == ExprKind::Name) {
    const auto& name = as<lang::NameExpr>(*s.targets[0]);
    if (name.binding.place == lang::Place::Local && writes_last(*s.value)) {
      expression(*s.value, static_cast<Register>(name.binding.slot));
      return mark_assigned(name.binding, name.name, s.span);
    }
  }
  Register value = expression(*s.value);
  for (std::size_t i = 0; i < s.targets.size(); ++i) {
    const Register mark = top_;
    Register source = value;
    if (i + 1 < s.targets.size() && is_temporary(value)) {
      source = allocate();
      emit(Opcode::Copy, s.span, source, value);
    }
    unpacked_ = s.value;
    assign_to(*s.targets[i], source, s.span);
    unpacked_ = nullptr;
    top_ = mark;
  }
}

// `a, b = b, a` without making a tuple.
bool FunctionCompiler::assign_pairwise(const lang::AssignStmt& s) {
  if (s.targets.size() != 1 || s.targets[0]->kind != ExprKind::Tuple || s.value->kind != ExprKind::Tuple)
    return false;
  const auto targets = as<lang::TupleExpr>(*s.targets[0]).items;
  const auto values = as<lang::TupleExpr>(*s.value).items;
  const auto is_starred = [](const Expr* e) { return e->kind == ExprKind::Starred; };
  if (targets.size() != values.size() || targets.size() > 8) return false;
  if (std::any_of(targets.begin(), targets.end(), is_starred)) return false;
  if (std::any_of(values.begin(), values.end(), is_starred)) return false;
  const Register first = top_;
  for (const Expr* value : values) temporary(*value);
  const Register mark = top_;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    assign_to(*targets[i], static_cast<Register>(first + i), s.span);
    top_ = mark;
  }
  return true;
}

// Consumes `value` when it is a temporary.
void FunctionCompiler::assign_to(const Expr& target, Register value, Span statement) {
  switch (target.kind) {
    case ExprKind::Name: {
      const auto& name = as<lang::NameExpr>(target);
      return write(name.binding, name.name, target.span, value, statement);
    }
    case ExprKind::Attribute: {
      const auto& attribute = as<lang::AttributeExpr>(target);
      const Register object = expression(*attribute.object);
      return emit_with_operands(Opcode::SetAttribute, target.span, object, value, site(attribute.name),
                                {attribute.object});
    }
    case ExprKind::Index: {
      const auto& index = as<lang::IndexExpr>(target);
      const Register object = expression(*index.object);
      const Register key = index_key(index);
      emit_with_operands(Opcode::SetIndex, target.span, object, key, value, {index.object});
      for (const Expr* item : index.items) note_operand(*item);
      return;
    }
    case ExprKind::List:
      return assign_items(as<lang::ListExpr>(target).items, target, value, statement);
    case ExprKind::Tuple:
      return assign_items(as<lang::TupleExpr>(target).items, target, value, statement);
    default:
      return assign_to(*as<lang::StarredExpr>(target).operand, value, statement);
  }
}

void FunctionCompiler::assign_items(std::span<Expr* const> targets, const Expr& whole, Register value,
                                    Span statement) {
  const Expr* const source = std::exchange(unpacked_, nullptr);
  const auto count = static_cast<std::uint32_t>(targets.size());
  const auto star = std::find_if(targets.begin(), targets.end(),
                                 [](const Expr* e) { return e->kind == ExprKind::Starred; });
  const Register first = allocate(count);
  if (star == targets.end()) {
    emit(Opcode::Unpack, whole.span, first, value, count);
  } else {
    const auto before = static_cast<std::uint32_t>(star - targets.begin());
    const std::uint32_t after = count - before - 1;
    if (before > 255 || after > 255) too_large(whole.span, "too many targets");
    emit(Opcode::UnpackStar, whole.span, first, value, before * 256 + after);
  }
  if (source) note_operand(*source);
  const Register mark = top_;
  for (std::uint32_t i = 0; i < count; ++i) {
    assign_to(*targets[i], static_cast<Register>(first + i), statement);
    top_ = mark;
  }
}

namespace {

Opcode augmented(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return Opcode::AugAdd;
    case BinaryOp::Sub:
      return Opcode::AugSub;
    case BinaryOp::Mul:
      return Opcode::AugMul;
    case BinaryOp::Div:
      return Opcode::AugDiv;
    default:
      return Opcode::AugBinary;
  }
}

bool augmented_with_number(BinaryOp op, Opcode& code) {
  switch (op) {
    case BinaryOp::Add:
      code = Opcode::AugAddInt;
      return true;
    case BinaryOp::Sub:
      code = Opcode::AugSubInt;
      return true;
    case BinaryOp::Mul:
      code = Opcode::AugMulInt;
      return true;
    default:
      return false;
  }
}

}  // namespace

void FunctionCompiler::augment(const lang::AugAssignStmt& s) {
  if (s.target->kind == ExprKind::Index) return augment_index(s);
  if (s.target->kind == ExprKind::Attribute) return augment_attribute(s);
  const auto& name = as<lang::NameExpr>(*s.target);
  const Register target = read(name, {});
  augment_register(s, target);
  write(name.binding, name.name, name.span, target, s.span);
}

void FunctionCompiler::augment_register(const lang::AugAssignStmt& s, Register target) {
  Opcode code = augmented(s.op);
  if (s.value->kind == ExprKind::Int) {
    const std::int64_t number = as<lang::IntExpr>(*s.value).value;
    if (number <= 0x7fff && augmented_with_number(s.op, code)) {
      return emit_with_operands(code, s.op_span, target, static_cast<std::uint32_t>(number), 0,
                                {s.target, s.value});
    }
  }
  const Register value = operand(*s.value);
  emit_with_operands(code, s.op_span, target, value, static_cast<std::uint32_t>(s.op), {s.target, s.value});
}

// A register to read now that can be read once more later: a copy of a temporary, a local as it is.
Register FunctionCompiler::again(Register r, Span span) {
  if (!is_temporary(r)) return r;
  const Register copy = allocate();
  emit(Opcode::Copy, span, copy, r);
  return copy;
}

void FunctionCompiler::augment_index(const lang::AugAssignStmt& s) {
  const auto& index = as<lang::IndexExpr>(*s.target);
  const Register object = expression(*index.object);
  const Register key = index_key(index);
  const Register value = allocate();
  const Register mark = top_;
  emit_with_operands(Opcode::GetIndex, index.span, value, again(object, index.span), again(key, index.span),
                     {index.object});
  for (const Expr* item : index.items) note_operand(*item);
  top_ = mark;
  augment_register(s, value);
  emit_with_operands(Opcode::SetIndexBack, s.span, object, key, value, {index.object});
  for (const Expr* item : index.items) note_operand(*item);
}

void FunctionCompiler::augment_attribute(const lang::AugAssignStmt& s) {
  const auto& attribute = as<lang::AttributeExpr>(*s.target);
  const Register object = expression(*attribute.object);
  const Register value = allocate();
  const Register mark = top_;
  emit_with_operands(Opcode::GetAttribute, attribute.span, value, again(object, attribute.span),
                     site(attribute.name), {attribute.object});
  top_ = mark;
  augment_register(s, value);
  emit_with_operands(Opcode::SetAttribute, s.span, object, value, site(attribute.name), {attribute.object});
}

}  // namespace kiln::interp
