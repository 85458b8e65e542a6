// Lists, tuples, dicts, comprehensions and formatted text.
#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::as;
using lang::Expr;
using lang::ExprKind;
using lang::Span;

namespace {

// Longer literals are appended to item by item, so that they do not need a register for each.
constexpr std::size_t kMaxInRegisters = 64;

bool has_star(std::span<Expr* const> items) {
  for (const Expr* item : items) {
    if (item->kind == ExprKind::Starred) return true;
  }
  return false;
}

}  // namespace

Register FunctionCompiler::sequence(std::span<Expr* const> items, bool is_tuple, Span span, Want want) {
  const Register mark = top_;
  if (items.size() <= kMaxInRegisters && !has_star(items)) {
    for (const Expr* item : items) temporary(*item);
    const Register dst = settle(want, mark);
    emit(is_tuple ? Opcode::BuildTuple : Opcode::BuildList, span, dst, mark,
         static_cast<std::uint32_t>(items.size()));
    return dst;
  }
  const Register list = allocate();
  emit(Opcode::BuildList, span, list, list, 0);
  for (const Expr* item : items) {
    const Register before = top_;
    if (item->kind == ExprKind::Starred) {
      const Expr& spread = *as<lang::StarredExpr>(*item).operand;
      const Register value = expression(spread);
      emit_with_operands(Opcode::ListExtend, item->span, list, value, 0, {&spread});
    } else {
      const Register value = expression(*item);
      emit(Opcode::ListAppend, item->span, list, value);
    }
    top_ = before;
  }
  if (is_tuple) emit(Opcode::ListToTuple, span, list);
  const Register dst = settle(want, mark);
  if (dst != list) emit(Opcode::Take, span, dst, list);
  return dst;
}

Register FunctionCompiler::dict(const lang::DictExpr& e, Want want) {
  const Register mark = top_;
  const Register into = allocate();
  emit(Opcode::BuildDict, e.span, into, into, 0);
  for (const lang::DictEntry& entry : e.entries) {
    const Register before = top_;
    if (entry.key) {
      const Register key = expression(*entry.key);
      const Register value = expression(*entry.value);
      emit_with_operands(Opcode::DictSet, join(entry.key->span, entry.value->span), into, key, value,
                         {entry.key});
    } else {
      const Register value = expression(*entry.value);
      emit_with_operands(Opcode::DictMerge, entry.value->span, into, value, 0, {entry.value});
    }
    top_ = before;
  }
  const Register dst = settle(want, mark);
  if (dst != into) emit(Opcode::Take, e.span, dst, into);
  return dst;
}

Register FunctionCompiler::set(const lang::SetExpr& e, Want want) {
  const Register mark = top_;
  const Register into = allocate();
  emit(Opcode::BuildSet, e.span, into);
  for (const Expr* item : e.items) {
    const Register before = top_;
    const bool is_spread = item->kind == ExprKind::Starred;
    const Expr& value = is_spread ? *as<lang::StarredExpr>(*item).operand : *item;
    emit_with_operands(is_spread ? Opcode::SetExtend : Opcode::SetAdd, item->span, into, expression(value), 0,
                       {&value});
    top_ = before;
  }
  const Register dst = settle(want, mark);
  if (dst != into) emit(Opcode::Take, e.span, dst, into);
  return dst;
}

Register FunctionCompiler::comprehension(const lang::ComprehensionExpr& e, Want want) {
  const Register mark = top_;
  const Register into = allocate();
  if (e.is_set) {
    emit(Opcode::BuildSet, e.span, into);
  } else {
    emit(e.key ? Opcode::BuildDict : Opcode::BuildList, e.span, into, into, 0);
  }
  const Flow before = flow();
  comprehension_clause(e, 0, into);
  restore(before);
  const Register dst = settle(want, mark);
  if (dst != into) emit(Opcode::Take, e.span, dst, into);
  return dst;
}

void FunctionCompiler::comprehension_clause(const lang::ComprehensionExpr& e, std::size_t clause,
                                            Register into) {
  const Register mark = top_;
  if (clause == e.clauses.size()) {
    if (e.key) {
      const Register key = expression(*e.key);
      const Register value = expression(*e.element);
      emit_with_operands(Opcode::DictSet, e.span, into, key, value, {e.key});
    } else {
      const Register value = expression(*e.element);
      emit_with_operands(e.is_set ? Opcode::SetAdd : Opcode::ListAppend, e.element->span, into, value, 0,
                         {e.element});
    }
    top_ = mark;
    return;
  }
  const lang::ComprehensionClause& c = e.clauses[clause];
  Jumps skipped;
  const std::size_t next = begin_for(*c.iterable, *c.target, e.span, [&] {
    for (const Expr* condition : c.conditions) jump_if(*condition, false, skipped);
    comprehension_clause(e, clause + 1, into);
  });
  for (const std::size_t at : skipped.at) patch(at, next);
  top_ = mark;
}

Register FunctionCompiler::format_text(const lang::FStringExpr& e, Want want) {
  return join_parts(e.parts, e.span, want);
}

Register FunctionCompiler::join_parts(std::span<const lang::FStringPart> parts, Span span, Want want) {
  const Register mark = top_;
  std::uint32_t count = 0;
  for (const lang::FStringPart& part : parts) {
    if (!part.expr) {
      load(Value(part.text), span, {});
      ++count;
      continue;
    }
    if (!part.debug.empty()) {
      load(Value(part.debug), span, {});
      ++count;
    }
    format_part(part, span);
    ++count;
  }
  const Register dst = settle(want, mark);
  emit(Opcode::JoinText, span, dst, mark, count);
  return dst;
}

// Leaves the text in the register where the value was; the spec stands behind it.
void FunctionCompiler::format_part(const lang::FStringPart& part, Span span) {
  const Register value = temporary(*part.expr);
  const Register spec = part.spec.empty() ? load(Value(""), span, {}) : join_parts(part.spec, span, {});
  char conversion = part.conversion;
  if (conversion == 0 && !part.debug.empty() && part.spec.empty()) conversion = 'r';
  emit_with_operands(Opcode::FormatValue, part.expr->span, value, value,
                     static_cast<std::uint32_t>(conversion), {part.expr});
  top_ = spec;
}

}  // namespace kiln::interp
