// Owns what one text alone tells: its tree as far as it can be read, its mistakes, its variables.
#pragma once

#include <string>
#include <vector>

#include "editor/symbol_table.h"
#include "lang/parse.h"

namespace kiln::editor {

class Analysis {
 public:
  Analysis(std::string name, std::string text);
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;

  const lang::SourceFile& file() const { return file_; }
  const lang::FunctionExpr& main() const { return *tree_.ast->main; }
  // Of syntax, and where names are misused; the text can be run when there are none.
  const std::vector<lang::Diagnostic>& mistakes() const { return tree_.mistakes; }
  const SymbolTable& symbols() const { return symbols_; }
  // The innermost function whose text holds the offset; null at top level.
  const lang::FunctionExpr* function_at(std::size_t offset) const;

 private:
  lang::SourceFile file_;
  lang::TolerantAst tree_;
  SymbolTable symbols_;
};

}  // namespace kiln::editor
