// Calls: arguments go where the callee will find them.
#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::Argument;
using lang::as;
using lang::Expr;

namespace {

bool is_plain(const lang::CallExpr& e) {
  for (const Argument& argument : e.arguments) {
    if (argument.kind != Argument::Kind::Positional) return false;
  }
  return true;
}

}  // namespace

// The callee's register becomes the result's, so a call whose value is an argument of another needs no move.
Register FunctionCompiler::call(const lang::CallExpr& e, Want want) {
  const Register mark = top_;
  const bool in_place = want && is_temporary(*want) && *want + 1 == top_;
  const Register base = in_place ? *want : allocate();
  if (e.callee->kind == lang::ExprKind::Attribute) {
    call_method(e, base);
  } else {
    call_plain(e, base);
  }
  top_ = mark;
  if (in_place) return base;
  if (!want) return allocate();
  emit(Opcode::Take, e.span, *want, base);
  return *want;
}

void FunctionCompiler::call_plain(const lang::CallExpr& e, Register base) {
  expression(*e.callee, base);
  for (const Argument& argument : e.arguments) temporary(*argument.value);
  const auto count = static_cast<std::uint32_t>(e.arguments.size());
  if (is_plain(e)) {
    emit(Opcode::Call, e.span, base, count);
  } else {
    emit(Opcode::CallSpread, e.span, base, count, call_shape(e));
  }
  note_call_operands(e);
}

void FunctionCompiler::call_method(const lang::CallExpr& e, Register base) {
  const auto& callee = as<lang::AttributeExpr>(*e.callee);
  temporary(*callee.object);
  for (const Argument& argument : e.arguments) temporary(*argument.value);
  const auto count = static_cast<std::uint32_t>(e.arguments.size() + 1);
  const std::uint32_t where = site(callee.name);
  if (is_plain(e)) {
    emit(Opcode::CallMethod, e.span, base, count, where);
  } else {
    const std::uint32_t shape = call_shape(e);
    code_->shapes[shape].site = where;
    emit(Opcode::CallMethodSpread, e.span, base, count, shape);
  }
  note_operand(*callee.object);
  note_call_operands(e);
}

void FunctionCompiler::note_call_operands(const lang::CallExpr& e) {
  for (const Argument& argument : e.arguments) note_operand(*argument.value);
}

std::uint32_t FunctionCompiler::call_shape(const lang::CallExpr& e) {
  CallShape shape;
  for (const Argument& argument : e.arguments) {
    shape.items.push_back({argument.kind, argument.name, argument.name_span});
  }
  code_->shapes.push_back(std::move(shape));
  return static_cast<std::uint32_t>(code_->shapes.size() - 1);
}

}  // namespace kiln::interp
