#include "interpreter/compile/returning.h"

#include "lang/parse.h"

namespace kiln::interp {

std::string returning(const lang::SourceFile& file) {
  const std::unique_ptr<lang::Ast> ast = lang::parse(file);
  lang::resolve(*ast);
  const auto& statements = ast->main->body->statements;
  std::string text(file.text());
  if (!statements.empty() && statements.back()->kind == lang::StmtKind::Expr)
    text.insert(statements.back()->span.begin, "return ");
  return text;
}

}  // namespace kiln::interp
