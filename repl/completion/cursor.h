// Owns what stands before the cursor: the tokens of an unfinished text, the operands and calls that they
// form.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lang/parse.h"

namespace kiln::repl {

// A token with its text; spaces and comments are left out, a newline is one.
struct CursorToken {
  lang::TokenClass kind;
  std::uint32_t begin;
  std::uint32_t end;
  std::string_view text;
};

// A bracket that is open at the cursor.
struct OpenBracket {
  std::size_t token;               // of the bracket
  std::vector<std::size_t> items;  // the first token of each, of which the cursor is in the last
};

// The text up to the cursor. Views stay valid as long as the text.
class CursorText {
 public:
  CursorText(std::string_view text, std::size_t cursor);

  std::string_view before() const { return before_; }
  // The word at the cursor, "" when none is begun; within a string what follows its quote.
  std::string_view word() const { return before_.substr(word_begin_); }
  std::size_t word_begin() const { return word_begin_; }
  bool in_string() const { return in_string_; }
  bool in_comment() const { return in_comment_; }
  // Those before the word, or before the string that the cursor is in.
  const std::vector<CursorToken>& tokens() const { return tokens_; }
  bool last_is(std::string_view text) const { return !tokens_.empty() && tokens_.back().text == text; }

  // The text of the operand, "model.layers[0]" or "f(x)", that ends before a token; "" when none does.
  std::string_view operand_before(std::size_t token) const;
  // The same with the operators of at least a precedence before it: "a @ b" of "a @ b @".
  std::string_view operands_before(std::size_t token, int precedence) const;
  // The innermost bracket that is open.
  std::optional<OpenBracket> open_bracket() const;

 private:
  std::size_t operand_begin(std::size_t end) const;
  std::size_t opener_of(std::size_t closer) const;
  void find_word(const std::vector<lang::ClassifiedToken>& tokens);

  std::string_view before_;
  std::size_t word_begin_ = 0;
  bool in_string_ = false;
  bool in_comment_ = false;
  std::vector<CursorToken> tokens_;
};

bool is_word_character(char c);

}  // namespace kiln::repl
