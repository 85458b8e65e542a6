// Owns the syntax tree as the generated parser reports it: one flat list of rules and tokens per statement.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lang/source.h"
#include "lang/token.h"
#include "lang/token_filter.h"

namespace kiln::lang {

// A rule with its descendants right behind it, up to `end`; or a token.
struct SyntaxEntry {
  bool is_rule = false;
  Rule rule{};
  std::uint32_t end = 0;  // of a rule: the index past its last descendant; of a token: its index in `tokens`
};

struct Syntax {
  std::vector<Token> tokens;
  std::vector<SyntaxEntry> entries;
  bool ended_by_semicolon = false;
  void clear() {
    tokens.clear();
    entries.clear();
  }
};

// A place in a Syntax: a rule or a token.
class Node {
 public:
  Node(const Syntax& syntax, std::uint32_t index) : syntax_(&syntax), index_(index) {}

  bool is(Rule rule) const { return entry().is_rule && entry().rule == rule; }
  bool is(Tok kind) const { return !entry().is_rule && token().kind == kind; }
  bool is_rule() const { return entry().is_rule; }
  Rule rule() const { return entry().rule; }
  Token token() const { return syntax_->tokens[entry().end]; }

  // The children of a rule.
  class Iterator {
   public:
    Iterator(const Syntax& syntax, std::uint32_t index) : syntax_(&syntax), index_(index) {}
    Node operator*() const { return {*syntax_, index_}; }
    Iterator& operator++() {
      index_ = Node(*syntax_, index_).next();
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Syntax* syntax_;
    std::uint32_t index_;
  };
  Iterator begin() const { return {*syntax_, index_ + 1}; }
  Iterator end() const { return {*syntax_, entry().end}; }
  Node first() const { return {*syntax_, index_ + 1}; }

  Token first_token() const {
    Node node = *this;
    while (node.is_rule()) node = node.first();
    return node.token();
  }
  Token last_token() const {
    std::uint32_t last = entry().is_rule ? entry().end - 1 : index_;
    while (syntax_->entries[last].is_rule) --last;  // rules without tokens
    return Node(*syntax_, last).token();
  }

 private:
  const SyntaxEntry& entry() const { return syntax_->entries[index_]; }
  std::uint32_t next() const { return entry().is_rule ? entry().end : index_ + 1; }

  const Syntax* syntax_;
  std::uint32_t index_;
};

// Reads a file statement by statement, keeping memory for one of them only.
class SyntaxReader {
 public:
  SyntaxReader(const SourceFile& file, std::uint32_t begin, std::uint32_t end, bool inside_brackets,
               int depth);
  ~SyntaxReader();
  SyntaxReader(const SyntaxReader&) = delete;
  SyntaxReader& operator=(const SyntaxReader&) = delete;

  // Reads the next statement and what ends it; false at the end. Throws UserError.
  bool next_statement(Syntax& syntax);
  // Reads one expression that takes the whole range.
  void whole_expression(Syntax& syntax);
  const std::vector<DocumentationLines>& documentation() const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

// Every token of the text with spaces and comments, as the lexer sees them. Never throws.
std::vector<Token> lex(std::string_view text);

}  // namespace kiln::lang
