// `with`, `try`, `catch`, `finally`: bodies whose errors go on elsewhere, and what runs when they are left.
#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::Span;

void FunctionCompiler::protect(bool cleanup, Register context, Span span, const lang::Block* finally) {
  protections_.push_back({cleanup, context, finally, span, top_, {}, static_cast<std::uint32_t>(here())});
}

FunctionCompiler::Protection FunctionCompiler::end_body() {
  Protection protection = std::move(protections_.back());
  protections_.pop_back();
  protection.ranges.emplace_back(protection.begin, static_cast<std::uint32_t>(here()));
  return protection;
}

// Ends the innermost body; its errors arrive here, in `target_register`.
void FunctionCompiler::end_protection(const Protection& p, Register target_register) {
  for (const auto& [begin, end] : p.ranges) {
    if (begin == end) continue;
    code_->handlers.push_back(
        {begin, end, static_cast<std::uint32_t>(here()), target_register, p.live, p.cleanup});
  }
}

// Leaving bodies from within: the exits of `with` and the blocks of `finally` run here, outside of the
// handlers left so far.
void FunctionCompiler::leave_protections(std::size_t down_to) {
  for (std::size_t i = protections_.size(); i-- > down_to;) {
    protections_[i].ranges.emplace_back(protections_[i].begin, static_cast<std::uint32_t>(here()));
    if (protections_[i].cleanup) clean_up(i);
  }
}

void FunctionCompiler::resume_protections(std::size_t down_to) {
  for (std::size_t i = down_to; i < protections_.size(); ++i) {
    protections_[i].begin = static_cast<std::uint32_t>(here());
  }
}

// What the protection runs as its body is left. A `return` or `break` in a block of `finally` leaves only
// what is around it.
void FunctionCompiler::clean_up(std::size_t protection) {
  if (protections_[protection].finally == nullptr) {
    const Span span = protections_[protection].span;
    const Register context = protections_[protection].context;
    call_context("exit", context, span);
    emit(Opcode::Drop, span, context);
    return;
  }
  const lang::Block& finally = *protections_[protection].finally;
  const auto first = protections_.begin() + static_cast<std::ptrdiff_t>(protection);
  std::vector<Protection> left(std::make_move_iterator(first), std::make_move_iterator(protections_.end()));
  protections_.erase(first, protections_.end());
  resume_protections(0);
  block(finally);
  for (Protection& each : left) protections_.push_back(std::move(each));
}

// The value of a `return`, where no clean-up that runs before it can change it.
Register FunctionCompiler::safe_from_cleanup(Register value, Span span) {
  if (is_temporary(value)) return value;
  for (const Protection& each : protections_) {
    if (each.finally != nullptr) return movable(value, span);
  }
  return value;
}

void FunctionCompiler::call_context(std::string_view method, Register context, Span span) {
  const Register mark = top_;
  const Register base = allocate(2);
  emit(Opcode::Copy, span, base + 1U, context);
  emit(Opcode::CallMethod, span, base, 1, site(method));
  emit(Opcode::Drop, span, base);
  top_ = mark;
}

void FunctionCompiler::with_statement(const lang::WithStmt& s, std::size_t item) {
  if (item == s.items.size()) return block(*s.body);
  const Register mark = top_;
  const lang::WithItem& with = s.items[item];
  const Span span = with.value->span;
  const Register context = temporary(*with.value);
  emit_with_operands(Opcode::CheckContext, span, context, 0, 0, {with.value});
  const Register base = allocate(2);
  emit(Opcode::Copy, span, base + 1U, context);
  emit(Opcode::CallMethod, span, base, 1, site("enter"));
  note_operand(*with.value);
  if (with.target) {
    assign_to(*with.target, base, s.span);
  } else {
    emit(Opcode::Drop, span, base);
  }
  top_ = base;
  protect(true, context, span);
  with_statement(s, item + 1);
  const Protection protection = end_body();
  call_context("exit", context, span);
  emit(Opcode::Drop, span, context);
  const std::size_t end = emit_wide(Opcode::Jump, span, 0, 0);
  const Register error = allocate();
  end_protection(protection, error);
  call_context("exit", context, span);
  emit(Opcode::Rethrow, span, error);
  patch(end, here());
  top_ = mark;
}

void FunctionCompiler::try_statement(const lang::TryStmt& s) {
  if (s.cleanup) return finally_statement(s);
  catch_statement(s);
}

void FunctionCompiler::catch_statement(const lang::TryStmt& s) {
  if (!s.handler) return block(*s.body);
  protect(false, 0, s.span);
  const Flow before = flow();
  block(*s.body);
  const Protection protection = end_body();
  const Flow after_body = flow();
  const std::size_t end = emit_wide(Opcode::Jump, s.span, 0, 0);
  restore(before);
  reachable_ = true;
  const Register error = allocate();
  end_protection(protection, error);
  if (s.name.empty()) {
    emit(Opcode::Drop, s.span, error);
  } else {
    write(s.binding, s.name, s.span, error, s.span);
  }
  block(*s.handler);
  patch(end, here());
  merge(after_body);
}

// The block of `finally` stands twice: behind the others, and where their errors arrive, which are thrown on
// after it.
void FunctionCompiler::finally_statement(const lang::TryStmt& s) {
  protect(true, 0, s.span, s.cleanup);
  const Flow before = flow();
  catch_statement(s);
  const Protection protection = end_body();
  block(*s.cleanup);
  const Flow after = flow();
  const std::size_t end = emit_wide(Opcode::Jump, s.span, 0, 0);
  restore(before);
  reachable_ = true;
  const Register error = allocate();
  end_protection(protection, error);
  block(*s.cleanup);
  emit(Opcode::Rethrow, s.span, error);
  restore(after);
  patch(end, here());
}

}  // namespace kiln::interp
