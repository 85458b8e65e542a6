// Functions, structs, autograd definitions and imports.
#include <algorithm>

#include "interpreter/compile/compiler.h"
#include "lang/walk.h"

namespace kiln::interp {

using lang::as;
using lang::Expr;
using lang::Span;

namespace {

// The fields that a method assigns by its first parameter, each once.
class AssignedFields final : public lang::Walker {
 public:
  using lang::Walker::visit;
  explicit AssignedFields(lang::FunctionExpr& method) {
    if (method.parameters.empty()) return;
    self_ = method.parameters[0].name;
    body(method);
  }
  std::vector<std::string_view> names;

 private:
  void visit(lang::Stmt& s) override {
    if (s.kind == lang::StmtKind::Assign) {
      for (const Expr* target : as<lang::AssignStmt>(s).targets) add(*target);
    }
    children(s);
  }
  void add(const Expr& target) {
    if (target.kind == lang::ExprKind::Tuple) return add_all(as<lang::TupleExpr>(target).items);
    if (target.kind == lang::ExprKind::List) return add_all(as<lang::ListExpr>(target).items);
    if (target.kind == lang::ExprKind::Starred) return add(*as<lang::StarredExpr>(target).operand);
    if (target.kind != lang::ExprKind::Attribute) return;
    const auto& field = as<lang::AttributeExpr>(target);
    const bool of_self =
        field.object->kind == lang::ExprKind::Name && as<lang::NameExpr>(*field.object).name == self_;
    if (of_self && std::count(names.begin(), names.end(), field.name) == 0) names.push_back(field.name);
  }
  void add_all(std::span<Expr* const> items) {
    for (const Expr* each : items) add(*each);
  }

  std::string_view self_;
};

}  // namespace

Register FunctionCompiler::function(const lang::FunctionExpr& e, std::string name, Want want) {
  const Register mark = top_;
  for (const lang::Parameter& p : e.parameters) {
    if (p.default_value) temporary(*p.default_value);
  }
  const bool is_init = is_struct_method_ && e.name == "init" && !e.parameters.empty();
  FunctionCompiler inner(ast_, module_, e, name.empty() ? std::string(e.name) : std::move(name), this);
  inner.is_init_ = is_init;
  code_->functions.push_back(inner.compile());
  const Register dst = settle(want, mark);
  emit(Opcode::MakeFunction, e.span, dst, mark, static_cast<std::uint32_t>(code_->functions.size() - 1));
  return dst;
}

// `@a @b fn f`: a(b(f)). The decorators are evaluated first, in order.
Register FunctionCompiler::decorated(std::span<Expr* const> decorators,
                                     const std::function<void(Register)>& define) {
  const Register first = top_;
  for (const Expr* decorator : decorators) temporary(*decorator);
  const Register value = allocate();
  define(value);
  for (std::size_t i = decorators.size(); i-- > 0;) {
    const auto base = static_cast<Register>(first + i);
    emit(Opcode::Call, decorators[i]->span, base, 1);
  }
  top_ = static_cast<Register>(first + 1);
  return first;
}

void FunctionCompiler::function_statement(const lang::FunctionStmt& s) {
  const Register value = decorated(s.decorators, [&](Register r) { function(*s.function, "", r); });
  write(s.binding, s.function->name, s.span, value, s.span);
}

void FunctionCompiler::struct_statement(const lang::StructStmt& s) {
  const Register value = decorated(s.decorators, [&](Register dst) {
    const Register first = top_;
    StructCode code;
    code.statement = &s;
    for (const lang::StructField& field : s.fields) {
      code.has_default.push_back(field.default_value != nullptr);
      if (field.default_value) temporary(*field.default_value);
    }
    is_struct_method_ = true;
    for (const lang::FunctionStmt* method : s.methods) {
      code.methods.push_back(method->function->name);
      if (method->function->name == "init") code.init_fields = AssignedFields(*method->function).names;
      const std::string name = std::string(s.name) + "." + std::string(method->function->name);
      decorated(method->decorators, [&](Register r) { function(*method->function, name, r); });
    }
    is_struct_method_ = false;
    code_->structs.push_back(std::move(code));
    emit(Opcode::MakeStruct, s.span, dst, first, static_cast<std::uint32_t>(code_->structs.size() - 1));
    top_ = first;
  });
  write(s.binding, s.name, s.span, value, s.span);
}

void FunctionCompiler::autograd_statement(const lang::AutogradStmt& s) {
  const Register dst = allocate();
  const Register first = top_;
  AutogradCode code;
  code.statement = &s;
  for (const lang::FunctionStmt* method : s.methods) {
    const std::string name = std::string(s.name) + "." + std::string(method->function->name);
    decorated(method->decorators, [&](Register r) { function(*method->function, name, r); });
  }
  code_->autograds.push_back(code);
  emit(Opcode::MakeAutograd, s.span, dst, first, static_cast<std::uint32_t>(code_->autograds.size() - 1));
  write(s.binding, s.name, s.span, dst, s.span);
}

void FunctionCompiler::import_statement(const lang::ImportStmt& s) {
  const Register module = allocate();
  code_->imports.push_back(&s);
  emit_wide(Opcode::Import, s.module_span, module, static_cast<std::int32_t>(code_->imports.size() - 1));
  if (s.names.empty()) return write(s.binding, s.as, s.span, module, s.span);
  for (const lang::ImportedName& imported : s.names) {
    const Register mark = top_;
    const Register value = allocate();
    emit(Opcode::ImportName, imported.span, value, module, name_index(imported.name));
    write(imported.binding, imported.as.empty() ? imported.name : imported.as, imported.span, value, s.span);
    top_ = mark;
  }
  emit(Opcode::Drop, s.span, module);
}

}  // namespace kiln::interp
