// Owns the order in which a tree is walked: children as they are evaluated.
#pragma once

#include "lang/ast.h"

namespace kiln::lang {

// Derive, override `visit` for the nodes of interest, and call `children` to go on below one.
class Walker {
 public:
  virtual ~Walker() = default;
  virtual void visit(Expr& e) { children(e); }
  virtual void visit(Stmt& s) { children(s); }

 protected:
  void children(Expr& e);
  void children(Stmt& s);
  void children(Pattern& p);
  void block(Block* b);
  void maybe(Expr* e) {
    if (e) visit(*e);
  }
  // The two sides of a function: what its maker evaluates, and what a call does. Dimensions belong to
  // neither.
  void signature(FunctionExpr& f);
  void body(FunctionExpr& f);

 private:
  void parts(std::span<FStringPart> parts);
  void clauses(ComprehensionExpr& e);
};

}  // namespace kiln::lang
