#include "lang/token.h"

#include <algorithm>
#include <vector>

#include "lang/parse.h"

namespace kiln::lang {

std::string_view words(Tok kind) {
  static constexpr std::string_view kWords[] = {
      "the end of the file",
#define KILN_TOKEN(name, grammar, words) words,
#define KILN_KEYWORD(name, grammar, text) "`" text "`",
#include "lang/tokens.def"
#undef KILN_TOKEN
#undef KILN_KEYWORD
  };
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view words(Rule rule) {
  static constexpr std::string_view kWords[] = {
#define KILN_RULE(name, grammar, words) words,
#include "lang/rules.def"
#undef KILN_RULE
  };
  return kWords[static_cast<std::size_t>(rule)];
}

const std::vector<std::string_view>& keywords() {
  static const std::vector<std::string_view> kKeywords = [] {
    std::vector<std::string_view> names = {
#define KILN_TOKEN(name, grammar, words)
#define KILN_KEYWORD(name, grammar, text) text,
#include "lang/tokens.def"
#undef KILN_TOKEN
#undef KILN_KEYWORD
        "or", "and", "is"};
    std::sort(names.begin(), names.end());
    return names;
  }();
  return kKeywords;
}

Tok partner(Tok bracket) {
  switch (bracket) {
    case Tok::LeftParen:
      return Tok::RightParen;
    case Tok::LeftBracket:
      return Tok::RightBracket;
    case Tok::LeftBrace:
      return Tok::RightBrace;
    case Tok::RightParen:
      return Tok::LeftParen;
    case Tok::RightBracket:
      return Tok::LeftBracket;
    default:
      return Tok::LeftBrace;
  }
}

bool is_binary(Tok kind) {
  switch (kind) {
    case Tok::Operator:
    case Tok::Star:
    case Tok::DoubleStar:
    case Tok::Plus:
    case Tok::Minus:
    case Tok::At:
    case Tok::In:
      return true;
    default:
      return false;
  }
}

bool continues_line(Tok kind) {
  switch (kind) {
    case Tok::Not:
    case Tok::Tilde:
    case Tok::Assign:
    case Tok::Augmented:
    case Tok::FatArrow:
    case Tok::Arrow:
    case Tok::Comma:
    case Tok::Dot:
    case Tok::LeftParen:
    case Tok::LeftBracket:
    case Tok::LeftBrace:
      return true;
    default:
      return is_binary(kind);
  }
}

}  // namespace kiln::lang
