// Owns the wording of syntax errors: what was expected, where, and the fix for slips from other languages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lang/diagnostic.h"
#include "lang/token.h"

namespace kiln::lang {

// A syntax error that more text could repair; the prompt then asks for another line.
class IncompleteError : public UserError {
 public:
  using UserError::UserError;
};

[[noreturn]] void syntax_error(Span place, std::string message, std::string help = "");

// An opening bracket that is not closed yet. A brace is a block or a dict.
struct Opener {
  Token token;
  bool is_block = false;
  bool is_match = false;  // a block of cases
};

// What the parser knew when it could not go on. The token it stumbled over is the last of `tokens`.
struct ParseFailure {
  const SourceFile& file;
  std::span<const Token> tokens;
  std::span<const Rule> rules;      // outermost first
  Tok expected = Tok::End;          // the one token that could follow; End when several could
  std::span<const Opener> openers;  // outermost first
};
[[noreturn]] void complain(const ParseFailure& failure);

// For bytes that no token begins with, and for operators of other languages.
[[noreturn]] void complain_of_character(const SourceFile& file, Token token);
// For an opener that the text ends without closing.
[[noreturn]] void complain_of_unclosed(const SourceFile& file, const Opener& opener);

}  // namespace kiln::lang
