// Owns tokens as the front end passes them on: a kind and a range of bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::lang {

// Numbered as the generated lexer numbers them; antlr.cpp checks that at compile time.
enum class Tok : std::uint8_t {
  End,
#define KILN_TOKEN(name, grammar, words) name,
#define KILN_KEYWORD(name, grammar, text) name,
#include "lang/tokens.def"
#undef KILN_TOKEN
#undef KILN_KEYWORD
};

enum class Rule : std::uint8_t {
#define KILN_RULE(name, grammar, words) name,
#include "lang/rules.def"
#undef KILN_RULE
};

struct Token {
  Tok kind = Tok::End;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// How a message speaks of a kind of token: "`)`", "a name".
std::string_view words(Tok kind);
// What a message says is missing where a rule should begin: "an expression".
std::string_view words(Rule rule);

inline bool is_keyword(Tok kind) { return kind >= Tok::Fn && kind <= Tok::Nonlocal; }
// Whether the word of a keyword is a name, too, where it cannot be meant as a keyword.
inline bool may_be_name(Tok kind) { return kind >= Tok::Finally && kind <= Tok::Del; }
inline bool is_opener(Tok kind) {
  return kind == Tok::LeftParen || kind == Tok::LeftBracket || kind == Tok::LeftBrace;
}
inline bool is_closer(Tok kind) {
  return kind == Tok::RightParen || kind == Tok::RightBracket || kind == Tok::RightBrace;
}
// The closer that belongs to an opener, and the other way round.
Tok partner(Tok bracket);
// Whether the token may stand between two operands.
bool is_binary(Tok kind);
// Whether a statement cannot end after the token: a newline there is only layout.
bool continues_line(Tok kind);

}  // namespace kiln::lang
