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

// Of a word that may be a name: whether it begins a statement, and no operator or bracket that belongs to a
// name follows.
bool looks_like_keyword(const std::vector<Token>& tokens, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && tokens[before - 1].kind == Tok::Space) --before;
  if (before > 0) {
    const Tok kind = tokens[before - 1].kind;
    const bool begins = kind == Tok::Newline || kind == Tok::Semicolon || kind == Tok::LeftBrace ||
                        kind == Tok::RightBrace || kind == Tok::Comment;
    if (!begins) return false;
  }
  std::size_t after = at + 1;
  while (after < tokens.size() && tokens[after].kind == Tok::Space) ++after;
  if (after == tokens.size()) return true;
  const Tok kind = tokens[after].kind;
  if (is_opener(kind)) return after > at + 1;
  const bool belongs_to_name = kind == Tok::Assign || kind == Tok::Augmented || kind == Tok::Dot ||
                               kind == Tok::Comma || kind == Tok::Colon || is_closer(kind);
  return !belongs_to_name && (!is_binary(kind) || kind == Tok::Minus || kind == Tok::Plus);
}

}  // namespace

std::vector<ClassifiedToken> classify(std::string_view text) {
  std::vector<ClassifiedToken> classified;
  const std::vector<Token> tokens = lex(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token token = tokens[i];
    const TokenClass found = may_be_name(token.kind) && !looks_like_keyword(tokens, i)
                                 ? TokenClass::Name
                                 : class_of(token.kind, text.substr(token.begin, token.end - token.begin));
    classified.push_back({found, token.begin, token.end});
  }
  return classified;
}

}  // namespace kiln::lang
