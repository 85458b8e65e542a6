// `match`: each case tests the subject part by part, and jumps to the next one where it does not fit.
#include "interpreter/compile/compiler.h"
#include "interpreter/values/complex_number.h"

namespace kiln::interp {

using lang::as;
using lang::ExprKind;
using lang::Pattern;
using lang::Span;

namespace {

Value literal_value(const lang::Expr& e) {
  switch (e.kind) {
    case ExprKind::Bool:
      return as<lang::BoolExpr>(e).value;
    case ExprKind::Int:
      return as<lang::IntExpr>(e).value;
    case ExprKind::Float:
      return as<lang::FloatExpr>(e).value;
    case ExprKind::Imaginary:
      return complex_value(0, as<lang::ImaginaryExpr>(e).value);
    case ExprKind::String:
      return Value(as<lang::StringExpr>(e).value);
    case ExprKind::Unary: {
      const Value number = literal_value(*as<lang::UnaryExpr>(e).operand);
      if (number.is(Tag::Complex))
        return complex_value(-complex_of(number).real, -complex_of(number).imaginary);
      return number.is(Tag::Float) ? Value(-number.as_float()) : Value(-number.as_int());
    }
    default:
      return {};
  }
}

}  // namespace

void FunctionCompiler::match_statement(const lang::MatchStmt& s) {
  const Register mark = top_;
  const Register subject = temporary(*s.subject);
  const Flow start = flow();
  Flow after{{}, false};
  Jumps ends;
  for (const lang::MatchCase& each : s.cases) {
    restore(start);
    Jumps fails;
    const Register parts = top_;
    pattern(*each.pattern, subject, *s.subject, fails);
    const Register used = top_;
    if (each.guard) jump_if(*each.guard, false, fails);
    drop_from(subject, used, each.span);
    top_ = mark;
    block(*each.body);
    if (reachable_) ends.at.push_back(emit_wide(Opcode::Jump, each.span, 0, 0));
    merge(after);
    after = flow();
    patch_all(fails);
    drop_from(parts, used, each.span);
    top_ = parts;
  }
  restore(start);
  emit(Opcode::Drop, s.span, subject);
  patch_all(ends);
  merge(after);
  top_ = mark;
}

void FunctionCompiler::drop_from(Register first, Register end, Span span) {
  for (Register each = first; each < end; ++each) emit(Opcode::Drop, span, each);
}

void FunctionCompiler::pattern(const Pattern& p, Register value, const lang::Expr& subject, Jumps& fails) {
  switch (p.kind) {
    case Pattern::Kind::Any:
      return;
    case Pattern::Kind::As:
      pattern(*p.parts[0], value, subject, fails);
      [[fallthrough]];
    case Pattern::Kind::Name: {
      const Register mark = top_;
      write(p.binding, p.name, p.span, again(value, p.span), p.span);
      top_ = mark;
      return;
    }
    case Pattern::Kind::Value:
      return value_pattern(p, value, subject, fails);
    case Pattern::Kind::Either:
      return either_pattern(p, value, subject, fails);
    default:
      return parts_pattern(p, value, subject, fails);
  }
}

// `none`, `true` and `false` are asked for by identity: 1 is no `true` here.
void FunctionCompiler::value_pattern(const Pattern& p, Register value, const lang::Expr& subject,
                                     Jumps& fails) {
  const Register mark = top_;
  const bool is_single = p.value->kind == ExprKind::None || p.value->kind == ExprKind::Bool;
  const Register left = again(value, p.span);
  const Register right = expression(*p.value);
  const Register result = allocate();
  compare_link(is_single ? lang::CompareOp::Is : lang::CompareOp::Eq, p.span, result, left, right, subject,
               *p.value);
  fails.at.push_back(emit_wide(Opcode::JumpIfFalse, p.span, result, 0));
  top_ = mark;
}

void FunctionCompiler::either_pattern(const Pattern& p, Register value, const lang::Expr& subject,
                                      Jumps& fails) {
  const Flow before = flow();
  const Register mark = top_;
  Jumps other;
  pattern(*p.parts[0], value, subject, other);
  const Register used = top_;
  const Flow left = flow();
  const std::size_t fits = emit_wide(Opcode::Jump, p.span, 0, 0);
  patch_all(other);
  drop_from(mark, used, p.span);
  restore(before);
  pattern(*p.parts[1], value, subject, fails);
  patch(fits, here());
  merge(left);
  top_ = std::max(top_, used);
}

// One instruction takes the value apart by one level of the pattern; the parts keep their registers until the
// case is left.
void FunctionCompiler::parts_pattern(const Pattern& p, Register value, const lang::Expr& subject,
                                     Jumps& fails) {
  PatternCode code;
  code.pattern = &p;
  for (const lang::Expr* key : p.keys) code.keys.push_back(literal_value(*key));
  code_->patterns.push_back(std::move(code));
  const auto count = static_cast<std::uint32_t>(p.parts.size());
  const Register base = allocate(count + 1);
  if (p.value) {
    expression(*p.value, base);
  } else {
    load_none(p.span, base);
  }
  emit_with_operands(Opcode::MatchParts, p.span, base, value,
                     static_cast<std::uint32_t>(code_->patterns.size() - 1), {p.value ? p.value : &subject});
  fails.at.push_back(emit_wide(Opcode::JumpIfFalse, p.span, base, 0));
  for (std::uint32_t i = 0; i < count; ++i)
    pattern(*p.parts[i], static_cast<Register>(base + 1 + i), subject, fails);
}

}  // namespace kiln::interp
