#include "lang/parse.h"
#include "lang/syntax.h"

namespace kiln::lang {
namespace {

TokenClass class_of(Tok kind, std::string_view text) {
  if (is_keyword(kind)) return TokenClass::Keyword;
  if (is_opener(kind) || is_closer(kind)) return TokenClass::Bracket;
  switch (kind) {
    case Tok::Name:
      return TokenClass::Name;
    case Tok::Number:
      return TokenClass::Number;
    case Tok::String:
    case Tok::FString:
    case Tok::Unterminated:
      return TokenClass::String;
    case Tok::Comment:
      return TokenClass::Comment;
    case Tok::Space:
    case Tok::Newline:
      return TokenClass::Space;
    case Tok::Foreign:
      return TokenClass::Invalid;
    // `or`, `and` and `is` are operators to the grammar and keywords to the eye.
    default:
      return text.front() >= 'a' && text.front() <= 'z' ? TokenClass::Keyword : TokenClass::Operator;
  }
}

}  // namespace

std::vector<ClassifiedToken> classify(std::string_view text) {
  std::vector<ClassifiedToken> classified;
  for (const Token token : lex(text)) {
    classified.push_back(
        {class_of(token.kind, text.substr(token.begin, token.end - token.begin)), token.begin, token.end});
  }
  return classified;
}

}  // namespace kiln::lang
