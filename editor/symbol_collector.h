// Owns the walk that finds the variables of a tree and where their names stand.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "editor/symbol_table.h"
#include "lang/token.h"
#include "lang/walk.h"

namespace kiln::editor {

class SymbolCollector final : public lang::Walker {
 public:
  explicit SymbolCollector(lang::Ast& ast);

  using Walker::visit;
  void visit(lang::Expr& e) override;
  void visit(lang::Stmt& s) override;

  std::vector<Symbol> take_symbols();
  std::vector<const lang::AttributeExpr*> members;
  std::vector<const lang::FunctionExpr*> functions;
  std::vector<const lang::CallExpr*> named_calls;

 private:
  // Whose local at which place, or the name of a variable of the module.
  using Key = std::pair<std::pair<const lang::FunctionExpr*, std::uint32_t>, std::string>;
  struct NamedArgument {
    std::size_t callee;  // the symbol
    const lang::Argument* argument;
  };

  void function(lang::FunctionExpr& f);
  void function_statement(lang::FunctionStmt& s);
  void structure(lang::Stmt& s, std::span<lang::FunctionStmt*> methods);
  void import(lang::ImportStmt& s);
  void nonlocal(const lang::NonlocalStmt& s);
  void pattern(lang::Pattern& p);
  void call(lang::CallExpr& e);
  void targets(const lang::Expr& target);
  void dimensions(lang::Annotation* annotation);
  void name_arguments();

  Symbol* find(const lang::Binding& binding, std::string_view name);
  Symbol* add(const lang::Binding& binding, std::string_view name, lang::Span place, bool is_definition);
  void define(const lang::Binding& binding, std::string_view name, lang::Span place, SymbolKind kind,
              const lang::Stmt* definition = nullptr, const lang::FunctionExpr* function = nullptr);
  // The name behind a keyword, from an offset on.
  lang::Span name_behind(std::uint32_t from, lang::Tok keyword, std::string_view name) const;
  // The last token of this name in a span.
  lang::Span last_name(lang::Span where, std::string_view name) const;

  const lang::SourceFile& file_;
  std::vector<lang::Token> tokens_;  // of the whole text
  std::vector<lang::FunctionExpr*> around_;
  std::vector<Symbol> symbols_;
  std::map<Key, std::size_t> known_;
  std::set<std::uint32_t> targets_;  // where names begin that get a value
  std::vector<NamedArgument> named_;
};

}  // namespace kiln::editor
