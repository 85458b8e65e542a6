// Statements that steer: blocks, conditions, loops, return, with, try, throw, assert.
#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::as;
using lang::Expr;
using lang::ExprKind;
using lang::Span;
using lang::StmtKind;

void FunctionCompiler::merge(const Flow& other) {
  if (!other.reachable) return;
  if (!reachable_) return restore(other);
  for (std::size_t i = 0; i < assigned_.size(); ++i) assigned_[i] = assigned_[i] && other.assigned[i];
}

void FunctionCompiler::block(const lang::Block& b) {
  for (const lang::Stmt* s : b.statements) statement(*s);
}

void FunctionCompiler::statement(const lang::Stmt& s) {
  const Register mark = top_;
  switch (s.kind) {
    case StmtKind::Expr: {
      const Register value = expression(*as<lang::ExprStmt>(s).value);
      if (is_temporary(value)) emit(Opcode::Drop, s.span, value);
      break;
    }
    case StmtKind::Assign:
      assign(as<lang::AssignStmt>(s));
      break;
    case StmtKind::AugAssign:
      augment(as<lang::AugAssignStmt>(s));
      break;
    case StmtKind::If:
      if_statement(as<lang::IfStmt>(s));
      break;
    case StmtKind::While:
      while_statement(as<lang::WhileStmt>(s));
      break;
    case StmtKind::For:
      for_statement(as<lang::ForStmt>(s));
      break;
    case StmtKind::Break:
      leave_loop(true, s.span);
      break;
    case StmtKind::Continue:
      leave_loop(false, s.span);
      break;
    case StmtKind::Return:
      return_statement(as<lang::ReturnStmt>(s));
      break;
    case StmtKind::Function:
      function_statement(as<lang::FunctionStmt>(s));
      break;
    case StmtKind::Struct:
      struct_statement(as<lang::StructStmt>(s));
      break;
    case StmtKind::Autograd:
      autograd_statement(as<lang::AutogradStmt>(s));
      break;
    case StmtKind::With:
      with_statement(as<lang::WithStmt>(s), 0);
      break;
    case StmtKind::Try:
      try_statement(as<lang::TryStmt>(s));
      break;
    case StmtKind::Match:
      match_statement(as<lang::MatchStmt>(s));
      break;
    case StmtKind::Yield:
      yield_statement(as<lang::YieldStmt>(s));
      break;
    case StmtKind::Del:
      del_statement(as<lang::DelStmt>(s));
      break;
    case StmtKind::Throw:
      throw_statement(as<lang::ThrowStmt>(s));
      break;
    case StmtKind::Assert:
      assert_statement(as<lang::AssertStmt>(s));
      break;
    case StmtKind::Import:
      import_statement(as<lang::ImportStmt>(s));
      break;
    case StmtKind::Nonlocal:
      break;  // the resolver has seen to it
  }
  top_ = mark;
}

void FunctionCompiler::if_statement(const lang::IfStmt& s) {
  Jumps otherwise;
  jump_if(*s.condition, false, otherwise);
  const Flow before = flow();
  block(*s.then);
  if (!s.otherwise) {
    patch_all(otherwise);
    return merge(before);
  }
  const Flow after_then = flow();
  Jumps end;
  if (reachable_) end.at.push_back(emit_wide(Opcode::Jump, s.span, 0, 0));
  patch_all(otherwise);
  restore(before);
  block(*s.otherwise);
  patch_all(end);
  merge(after_then);
}

// The condition stands below the body, so that a turn takes one jump.
void FunctionCompiler::while_statement(const lang::WhileStmt& s) {
  const std::size_t enter = emit_wide(Opcode::Jump, s.span, 0, 0);
  const std::size_t top = here();
  const Flow before = flow();
  loops_.push_back({{}, {}, protections_.size(), {}});
  block(*s.body);
  patch(enter, here());
  patch_all(loops_.back().continues);
  restore(before);
  Jumps again;
  jump_if(*s.condition, true, again);
  for (const std::size_t at : again.at) patch(at, top);
  patch_all(loops_.back().breaks);
  loops_.pop_back();
}

void FunctionCompiler::for_statement(const lang::ForStmt& s) {
  const Register state = top_;
  const Flow before = flow();
  loops_.push_back({{}, {}, protections_.size(), state});
  const std::size_t next = begin_for(*s.iterable, *s.target, s.span, [&] { block(*s.body); });
  for (const std::size_t at : loops_.back().continues.at) patch(at, next);
  restore(before);
  patch_all(loops_.back().breaks);
  loops_.pop_back();
}

// A loop over `iterable`: its state in three registers, `body` run for each item. Gives the place of the
// instruction that steps on.
std::size_t FunctionCompiler::begin_for(const Expr& iterable, const Expr& target, Span span,
                                        const std::function<void()>& body) {
  const Register mark = top_;
  const Register state = allocate(3);
  const Register source = expression(iterable, state);
  emit_with_operands(Opcode::BeginFor, iterable.span, state, source, 0, {&iterable});
  const std::size_t enter = emit_wide(Opcode::Jump, span, 0, 0);
  const std::size_t top = here();
  const bool is_local =
      target.kind == ExprKind::Name && as<lang::NameExpr>(target).binding.place == lang::Place::Local;
  const Register item =
      is_local ? static_cast<Register>(as<lang::NameExpr>(target).binding.slot) : allocate();
  if (is_local) {
    const auto& name = as<lang::NameExpr>(target);
    mark_assigned(name.binding, name.name, target.span);
  } else {
    assign_to(target, item, target.span);
    top_ = static_cast<Register>(state + 3);
  }
  body();
  patch(enter, here());
  const std::size_t next = here();
  emit(Opcode::NextFor, join(target.span, iterable.span), state, item, 0);
  patch(next, top);
  top_ = mark;
  return next;
}

void FunctionCompiler::leave_loop(bool is_break, Span span) {
  const std::size_t outside = loops_.back().protections;
  leave_protections(outside);
  if (is_break && loops_.back().state) emit(Opcode::EndFor, span, *loops_.back().state);
  auto& jumps = is_break ? loops_.back().breaks : loops_.back().continues;
  jumps.at.push_back(emit_wide(Opcode::Jump, span, 0, 0));
  resume_protections(outside);
  reachable_ = false;
}

void FunctionCompiler::return_statement(const lang::ReturnStmt& s) {
  const Register value = s.value ? expression(*s.value) : load_none(s.span, {});
  emit_return(value, s.span);
  reachable_ = false;
}

// In `init` the value is dropped: the instance is what a construction gives.
void FunctionCompiler::emit_return(Register value, Span span) {
  if (function_.returns) emit(Opcode::CheckResult, function_.returns->span, value);
  value = safe_from_cleanup(value, span);
  leave_protections(0);
  if (is_init_) {
    if (is_temporary(value)) emit(Opcode::Drop, span, value);
    value = read(function_.parameters[0].binding, "self", span, {});
    emit(Opcode::EndInit, span, value);
  }
  emit(Opcode::Return, span, value, top_);
  resume_protections(0);
}

void FunctionCompiler::yield_statement(const lang::YieldStmt& s) {
  Register value = s.value ? expression(*s.value) : load_none(s.span, {});
  if (s.target != nullptr && !is_temporary(value)) {
    const Register given = allocate();
    emit(Opcode::Copy, s.span, given, value);
    value = given;
  }
  emit(Opcode::Yield, s.span, value);
  if (s.target != nullptr) assign_to(*s.target, value, s.span);  // what is sent comes in its place
}

void FunctionCompiler::del_statement(const lang::DelStmt& s) {
  for (const Expr* target : s.targets) {
    const Register mark = top_;
    if (target->kind == ExprKind::Name) {
      delete_name(as<lang::NameExpr>(*target), s.span);
    } else {
      const auto& index = as<lang::IndexExpr>(*target);
      const Register object = expression(*index.object);
      const Register key = index_key(index);
      emit_with_operands(Opcode::DeleteIndex, index.span, object, key, 0, {index.object});
      for (const Expr* item : index.items) note_operand(*item);
    }
    top_ = mark;
  }
}

// Reading it first is an error where it has no value.
void FunctionCompiler::delete_name(const lang::NameExpr& name, Span span) {
  const Register value = read(name, {});
  if (is_temporary(value)) emit(Opcode::Drop, span, value);
  if (name.binding.place == lang::Place::Local) {
    emit(Opcode::UnsetLocals, span, name.binding.slot, 1);
    checked_[name.binding.slot] = true;
    return;
  }
  const Register unset = allocate();
  emit(Opcode::LoadUnset, span, unset);
  write(name.binding, name.name, name.span, unset, span);
}

void FunctionCompiler::throw_statement(const lang::ThrowStmt& s) {
  emit(Opcode::Throw, s.span, expression(*s.value));
  reachable_ = false;
}

// A failed comparison shows what was compared.
void FunctionCompiler::assert_statement(const lang::AssertStmt& s) {
  const Register mark = top_;
  Jumps passed;
  if (!s.message && s.condition->kind == ExprKind::Compare) {
    const auto& compare = as<lang::CompareExpr>(*s.condition);
    if (compare.rest.size() == 1) {
      const lang::CompareLink& link = compare.rest[0];
      const Register left = expression(*compare.first);
      const Register right = expression(*link.operand);
      const Register result = allocate();
      compare_link(link.op, link.op_span, result, again(left, s.span), again(right, s.span), *compare.first,
                   *link.operand);
      const std::size_t passes = emit_wide(Opcode::JumpIfTrue, s.condition->span, result, 0);
      note_operand(*s.condition);
      emit_with_operands(Opcode::AssertCompareFailed, s.condition->span, left, right,
                         static_cast<std::uint32_t>(link.op), {compare.first, link.operand});
      patch(passes, here());
      if (is_temporary(left)) emit(Opcode::Drop, s.span, left);
      if (is_temporary(right)) emit(Opcode::Drop, s.span, right);
      top_ = mark;
      return;
    }
  }
  jump_if(*s.condition, true, passed);
  const Flow before = flow();
  const Register message = s.message ? expression(*s.message) : load_none(s.span, {});
  emit(Opcode::AssertFailed, s.condition->span, message);
  restore(before);
  patch_all(passed);
}

}  // namespace kiln::interp
