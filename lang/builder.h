// Owns the making of the tree: turns the rules that the parser entered into nodes, and checks what the
// grammar leaves open (targets, parameters, literals, depth).
#pragma once

#include <optional>
#include <vector>

#include "lang/ast.h"
#include "lang/complaint.h"
#include "lang/operators.h"
#include "lang/syntax.h"

namespace kiln::lang {

class Builder {
 public:
  Builder(Ast& ast, const SourceFile& file) : ast_(ast), file_(file) {}

  // One statement of the top level. `documentation` is in order of place.
  Stmt* top_statement(const Syntax& syntax, const std::vector<DocumentationLines>& documentation);

 private:
  // While one lives, nodes are made that many levels deeper.
  class Level {
   public:
    Level(Builder& builder, int levels, Span place);
    ~Level() { builder_.depth_ -= levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Builder& builder_;
    int levels_;
  };

  // build_statements.cpp
  Stmt* statement(Node node);
  Stmt* expression_statement(Node node);
  Stmt* assignment(Node node);
  Stmt* if_statement(Node node);
  Stmt* while_statement(Node node);
  Stmt* for_statement(Node node);
  Stmt* with_statement(Node node);
  Stmt* try_statement(Node node);
  Stmt* yield_statement(Node node);
  Stmt* sent_assignment(Node node, Node yield, std::span<Expr* const> targets);
  Stmt* del_statement(Node node);
  Stmt* return_statement(Node node);
  Stmt* throw_statement(Node node);
  Stmt* assert_statement(Node node);
  Stmt* import_statement(Node node);
  Stmt* from_statement(Node node);
  Stmt* nonlocal_statement(Node node);
  void read_module(Node node, ImportStmt& import);
  Block* block(Node node);
  Expr* expressions(Node node, Expr* first = nullptr);
  Expr* starred(Token star, Expr* operand);
  Expr* tuple_of(const std::vector<Expr*>& items);
  Expr* value_of(Expr* expressions);
  Stmt* short_function(Node statement, Node function);

  // build_patterns.cpp
  Stmt* match_statement(Node node);
  MatchCase match_case(Node node);
  Pattern* case_pattern(Node node);
  Pattern* make_pattern(Pattern::Kind kind, Span span);
  Pattern* pattern(Expr& e);
  Pattern* pattern_name(std::string_view name, Span span);
  Pattern* sequence_pattern(std::span<Expr* const> items, Span span);
  Pattern* dict_pattern(const DictExpr& e);
  Pattern* struct_pattern(CallExpr& e);
  Pattern* either_pattern(BinaryExpr& e);

  // build_targets.cpp
  Expr* targets(Node node);
  void check_target(const Expr& target);
  void check_targets(const Expr& sequence, std::span<Expr* const> items);

  // build_functions.cpp
  Stmt* decorated(Node node);
  FunctionStmt* function_statement(Node function, Node whole, std::span<Expr*> decorators);
  Stmt* struct_statement(Node node, Node whole, std::span<Expr*> decorators);
  Stmt* autograd_statement(Node node, Node whole);
  FunctionExpr* function(Node node);
  FunctionExpr* lambda(Node expression);
  Parameter parameter(Node node);
  Parameter parameter_of_item(Node item);
  void check_parameters(const std::vector<Parameter>& parameters);
  Annotation* annotation(Node node);
  StructField field(Node node);
  void members(Node node, std::vector<StructField>* fields, std::vector<FunctionStmt*>& methods);
  std::string_view documentation(Node node);

  // build_chains.cpp
  class Chain;
  Expr* expression(Node node);
  Expr* chain(Node node);

  // build_operands.cpp
  Expr* operand(Node node);            // without its prefix operators
  Expr* operand_as_target(Node node);  // which may have none
  Expr* atom(Node node);
  Expr* group(Node node);
  Expr* list(Node node);
  Expr* dict(Node node);
  Expr* set(Node node, const std::vector<Node>& values);
  Expr* call(Node node, Expr* callee, Span span);
  Argument argument(Node item, bool alone);
  Expr* index(Node node, Expr* object, Span span);
  Expr* subscript(Node node);
  Expr* slice(Node node);
  Expr* plain_item(Node item, const char* where);
  Expr* comprehension(Node item, Span span);
  Expr* comprehension_in_braces(Node pair, Span span);
  std::span<ComprehensionClause> clauses(Node node);

  // build_strings.cpp
  Expr* string(Token token);
  Expr* fstring(Token token);
  std::span<FStringPart> fstring_parts(std::uint32_t& at, std::uint32_t end, bool in_spec);
  FStringPart fstring_field(std::uint32_t& at, std::uint32_t end, bool in_spec);
  Expr* embedded_expression(std::uint32_t begin, std::uint32_t end);

  // helpers
  Span span(Token token) const { return {&file_, token.begin, token.end}; }
  Span span(Node node) const { return {&file_, node.first_token().begin, node.last_token().end}; }
  std::string_view text(Token token) const { return span(token).text(); }
  // The name that a token spells.
  std::string_view name_of(Token token) { return normalized(text(token)); }
  std::string_view normalized(std::string_view spelling);
  static std::vector<Node> rules_of(Node node, Rule rule);
  static std::optional<Node> child(Node node, Rule rule);
  static std::optional<Token> child(Node node, Tok kind);
  static bool has_clause(Node item) { return child(item, Rule::Clause).has_value(); }
  // Of a pair in braces: it has no key, and spreads no dict.
  static bool is_set_item(Node pair) { return !child(pair, Tok::Colon) && !child(pair, Tok::DoubleStar); }
  // The name, when an expression is nothing but one.
  static std::optional<Token> bare_name(Node expression);
  // Two commas in a row, which the grammar lets pass.
  void check_commas(Node node);

  template <class T>
  std::span<T> keep(const std::vector<T>& items) {
    return ast_.copy(std::span<const T>(items));
  }

  Ast& ast_;
  const SourceFile& file_;
  const std::vector<DocumentationLines>* documentation_ = nullptr;
  int depth_ = 0;
};

}  // namespace kiln::lang
