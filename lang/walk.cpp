#include "lang/walk.h"

namespace kiln::lang {

void Walker::block(Block* b) {
  if (!b) return;
  for (Stmt* s : b->statements) visit(*s);
}

void Walker::parts(std::span<FStringPart> items) {
  for (FStringPart& part : items) {
    maybe(part.expr);
    parts(part.spec);
  }
}

void Walker::clauses(ComprehensionExpr& e) {
  for (ComprehensionClause& clause : e.clauses) {
    visit(*clause.iterable);
    visit(*clause.target);
    for (Expr* condition : clause.conditions) visit(*condition);
  }
}

void Walker::signature(FunctionExpr& f) {
  for (Parameter& p : f.parameters) {
    maybe(p.default_value);
    if (p.annotation) visit(*p.annotation->type);
  }
  if (f.returns) visit(*f.returns->type);
}

void Walker::body(FunctionExpr& f) {
  block(f.body);
  maybe(f.expression);
}

void Walker::children(Expr& e) {
  const auto all = [&](std::span<Expr*> items) {
    for (Expr* item : items) visit(*item);
  };
  switch (e.kind) {
    case ExprKind::None:
    case ExprKind::Bool:
    case ExprKind::Int:
    case ExprKind::Float:
    case ExprKind::Imaginary:
    case ExprKind::String:
    case ExprKind::Name:
    case ExprKind::Ellipsis:
      return;
    case ExprKind::FString:
      return parts(as<FStringExpr>(e).parts);
    case ExprKind::List:
      return all(as<ListExpr>(e).items);
    case ExprKind::Tuple:
      return all(as<TupleExpr>(e).items);
    case ExprKind::Set:
      return all(as<SetExpr>(e).items);
    case ExprKind::Dict:
      for (DictEntry& entry : as<DictExpr>(e).entries) {
        maybe(entry.key);
        visit(*entry.value);
      }
      return;
    case ExprKind::Comprehension: {
      auto& made = as<ComprehensionExpr>(e);
      clauses(made);
      maybe(made.key);
      return visit(*made.element);
    }
    case ExprKind::Unary:
      return visit(*as<UnaryExpr>(e).operand);
    case ExprKind::Binary:
      visit(*as<BinaryExpr>(e).left);
      return visit(*as<BinaryExpr>(e).right);
    case ExprKind::Compare:
      visit(*as<CompareExpr>(e).first);
      for (CompareLink& link : as<CompareExpr>(e).rest) visit(*link.operand);
      return;
    case ExprKind::Logical:
      visit(*as<LogicalExpr>(e).left);
      return visit(*as<LogicalExpr>(e).right);
    case ExprKind::Conditional:
      visit(*as<ConditionalExpr>(e).condition);
      visit(*as<ConditionalExpr>(e).then);
      return visit(*as<ConditionalExpr>(e).otherwise);
    case ExprKind::Function:
      signature(as<FunctionExpr>(e));
      return body(as<FunctionExpr>(e));
    case ExprKind::Call:
      visit(*as<CallExpr>(e).callee);
      for (Argument& argument : as<CallExpr>(e).arguments) visit(*argument.value);
      return;
    case ExprKind::Attribute:
      return visit(*as<AttributeExpr>(e).object);
    case ExprKind::Index:
      visit(*as<IndexExpr>(e).object);
      return all(as<IndexExpr>(e).items);
    case ExprKind::Slice:
      maybe(as<SliceExpr>(e).start);
      maybe(as<SliceExpr>(e).stop);
      return maybe(as<SliceExpr>(e).step);
    case ExprKind::Starred:
      return visit(*as<StarredExpr>(e).operand);
  }
}

void Walker::children(Pattern& p) {
  maybe(p.value);
  for (Expr* key : p.keys) visit(*key);
  for (Pattern* part : p.parts) children(*part);
}

void Walker::children(Stmt& s) {
  const auto all = [&](std::span<Expr*> items) {
    for (Expr* item : items) visit(*item);
  };
  const auto methods = [&](std::span<FunctionStmt*> items) {
    for (FunctionStmt* item : items) visit(static_cast<Stmt&>(*item));
  };
  switch (s.kind) {
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Import:
    case StmtKind::Nonlocal:
      return;
    case StmtKind::Expr:
      return visit(*as<ExprStmt>(s).value);
    case StmtKind::Assign:
      visit(*as<AssignStmt>(s).value);
      return all(as<AssignStmt>(s).targets);
    case StmtKind::AugAssign:
      visit(*as<AugAssignStmt>(s).target);
      return visit(*as<AugAssignStmt>(s).value);
    case StmtKind::If:
      visit(*as<IfStmt>(s).condition);
      block(as<IfStmt>(s).then);
      return block(as<IfStmt>(s).otherwise);
    case StmtKind::While:
      visit(*as<WhileStmt>(s).condition);
      return block(as<WhileStmt>(s).body);
    case StmtKind::For:
      visit(*as<ForStmt>(s).iterable);
      visit(*as<ForStmt>(s).target);
      return block(as<ForStmt>(s).body);
    case StmtKind::Return:
      return maybe(as<ReturnStmt>(s).value);
    case StmtKind::Function:
      all(as<FunctionStmt>(s).decorators);
      return visit(static_cast<Expr&>(*as<FunctionStmt>(s).function));
    case StmtKind::Struct:
      all(as<StructStmt>(s).decorators);
      for (StructField& field : as<StructStmt>(s).fields) {
        if (field.annotation) visit(*field.annotation->type);
        maybe(field.default_value);
      }
      return methods(as<StructStmt>(s).methods);
    case StmtKind::Autograd:
      return methods(as<AutogradStmt>(s).methods);
    case StmtKind::With:
      for (WithItem& item : as<WithStmt>(s).items) {
        visit(*item.value);
        maybe(item.target);
      }
      return block(as<WithStmt>(s).body);
    case StmtKind::Try:
      block(as<TryStmt>(s).body);
      block(as<TryStmt>(s).handler);
      return block(as<TryStmt>(s).cleanup);
    case StmtKind::Match:
      visit(*as<MatchStmt>(s).subject);
      for (MatchCase& each : as<MatchStmt>(s).cases) {
        children(*each.pattern);
        maybe(each.guard);
        block(each.body);
      }
      return;
    case StmtKind::Yield:
      maybe(as<YieldStmt>(s).value);
      return maybe(as<YieldStmt>(s).target);
    case StmtKind::Del:
      return all(as<DelStmt>(s).targets);
    case StmtKind::Throw:
      return visit(*as<ThrowStmt>(s).value);
    case StmtKind::Assert:
      visit(*as<AssertStmt>(s).condition);
      return maybe(as<AssertStmt>(s).message);
  }
}

}  // namespace kiln::lang
