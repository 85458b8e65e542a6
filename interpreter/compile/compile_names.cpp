// Reading and writing variables, and where each was last assigned.
#include <algorithm>

#include "interpreter/compile/compiler.h"

namespace kiln::interp {

using lang::Place;
using lang::Span;

Register FunctionCompiler::read(const lang::NameExpr& e, Want want) {
  return read(e.binding, e.name, e.span, want);
}

Register FunctionCompiler::read(const lang::Binding& binding, std::string_view name, Span span, Want want) {
  const std::uint32_t slot = binding.slot;
  switch (binding.place) {
    case Place::Local: {
      if (!assigned_[slot] || deleted_[slot]) {
        emit_wide(Opcode::CheckLocal, span, slot, static_cast<std::int32_t>(name_index(name)));
        checked_[slot] = true;
        assigned_[slot] = true;
      }
      if (!want) return static_cast<Register>(slot);
      if (*want != slot) emit(Opcode::Copy, span, *want, slot);
      return *want;
    }
    case Place::Cell: {
      const Register dst = want ? *want : allocate();
      emit(Opcode::GetCell, span, dst, slot, name_index(name));
      return dst;
    }
    case Place::Capture: {
      const Register dst = want ? *want : allocate();
      emit(Opcode::GetCapture, span, dst, slot, name_index(name));
      return dst;
    }
    default: {
      const Register dst = want ? *want : allocate();
      emit(Opcode::GetGlobal, span, dst, global(name));
      return dst;
    }
  }
}

void FunctionCompiler::write(const lang::Binding& binding, std::string_view name, Span span, Register value,
                             Span statement) {
  switch (binding.place) {
    case Place::Local:
      if (value != binding.slot) {
        emit(is_temporary(value) ? Opcode::Take : Opcode::Copy, span, binding.slot, value);
      }
      break;
    case Place::Cell:
      emit(Opcode::SetCell, span, movable(value, span), binding.slot);
      break;
    case Place::Capture:
      emit(Opcode::SetCapture, span, movable(value, span), binding.slot);
      break;
    default:
      emit(Opcode::SetGlobal, span, movable(value, span), global(name));
      break;
  }
  mark_assigned(binding, name, statement);
}

// A temporary with the value of `r`, to be consumed.
Register FunctionCompiler::movable(Register r, Span span) {
  if (is_temporary(r)) return r;
  const Register copy = allocate();
  emit(Opcode::Copy, span, copy, r);
  return copy;
}

void FunctionCompiler::mark_assigned(const lang::Binding& binding, std::string_view name, Span statement) {
  if (binding.place == Place::Local || binding.place == Place::Cell) {
    assigned_[binding.slot] = true;
    last_assigned_[binding.slot] = statement;
  } else if (binding.place == Place::Global && is_main_) {
    globals_assigned_[name] = statement;
    module_.origins[module_.slot(name)] = statement;
  }
}

namespace {

bool is_literal(const lang::Expr& e) {
  switch (e.kind) {
    case lang::ExprKind::Name:
    case lang::ExprKind::Attribute:
    case lang::ExprKind::Index:
    case lang::ExprKind::Call:
    case lang::ExprKind::Binary:
    case lang::ExprKind::Compare:
    case lang::ExprKind::Logical:
    case lang::ExprKind::Conditional:
    case lang::ExprKind::Comprehension:
      return false;
    case lang::ExprKind::Unary:
      return is_literal(*lang::as<lang::UnaryExpr>(e).operand);
    default:
      return true;
  }
}

}  // namespace

OperandNote FunctionCompiler::describe_operand(const lang::Expr& e) const {
  OperandNote note{e.span.begin, e.span.end, {}, OperandNote::Origin::None, {}};
  note.is_literal = is_literal(e);
  if (e.kind != lang::ExprKind::Name) return note;
  const auto& name = lang::as<lang::NameExpr>(e);
  note.name = name.name;
  switch (name.binding.place) {
    case Place::Local:
    case Place::Cell:
      local_origin(name.binding.slot, note);
      break;
    case Place::Capture:
      for (const FunctionCompiler* f = parent_; f; f = f->parent_) {
        const int local = f->local_named(name.name);
        if (local < 0) continue;
        f->local_origin(static_cast<std::uint32_t>(local), note);
        note.owner = f->function_.name.empty() ? "fn" : f->function_.name;
        break;
      }
      break;
    default: {
      const auto found = globals_assigned_.find(name.name);
      note.origin = OperandNote::Origin::Global;
      if (found == globals_assigned_.end()) break;
      note.origin = OperandNote::Origin::Assigned;
      note.assigned = found->second;
    }
  }
  return note;
}

// Where a variable of this function has its value from, as far as it is compiled.
void FunctionCompiler::local_origin(std::uint32_t slot, OperandNote& note) const {
  if (last_assigned_[slot]) {
    note.origin = OperandNote::Origin::Assigned;
    note.assigned = last_assigned_[slot];
  } else if (slot < function_.parameters.size()) {
    note.origin = OperandNote::Origin::Parameter;
  }
}

int FunctionCompiler::local_named(std::string_view name) const {
  const auto found = std::find(function_.locals.begin(), function_.locals.end(), name);
  return found == function_.locals.end() ? -1 : static_cast<int>(found - function_.locals.begin());
}

}  // namespace kiln::interp
