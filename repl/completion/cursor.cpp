#include "repl/completion/cursor.h"

#include <algorithm>
#include <cctype>

#include "lang/operators.h"

namespace kiln::repl {
namespace {

using lang::TokenClass;

bool is_opener(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool is_closer(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

bool is_operand(const CursorToken& token) {
  return token.kind == TokenClass::Name || token.kind == TokenClass::Number ||
         token.kind == TokenClass::String || token.text == "true" || token.text == "false" ||
         token.text == "none";
}

// Where the text of a string that nothing closes begins, behind its quotes; npos of one that is closed.
std::size_t open_string(std::string_view text, const lang::ClassifiedToken& token) {
  const std::string_view whole = text.substr(token.begin, token.end - token.begin);
  const std::size_t quote = whole.find_first_of("\"'");
  if (quote == std::string_view::npos) return std::string_view::npos;
  const std::string_view inside = whole.substr(quote + 1);
  std::size_t escapes = 0;
  while (escapes + 1 < inside.size() && inside[inside.size() - 2 - escapes] == '\\') ++escapes;
  const bool closed = !inside.empty() && inside.back() == whole[quote] && escapes % 2 == 0;
  return closed ? std::string_view::npos : token.begin + quote + 1;
}

// The precedence of a binary operator as it is written; -1 of anything else.
int precedence_of(const CursorToken& token) {
  static constexpr std::string_view kArithmetic[] = {"+", "-", "*", "/", "//", "%", "**", "@"};
  const bool known =
      std::find(std::begin(kArithmetic), std::end(kArithmetic), token.text) != std::end(kArithmetic);
  return known ? lang::find_operator(token.text).precedence : -1;
}

}  // namespace

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

CursorText::CursorText(std::string_view text, std::size_t cursor)
    : before_(text.substr(0, std::min(cursor, text.size()))) {
  const std::vector<lang::ClassifiedToken> tokens = lang::classify(before_);
  find_word(tokens);
  for (const lang::ClassifiedToken& token : tokens) {
    const std::string_view own = before_.substr(token.begin, token.end - token.begin);
    const bool is_newline = own.find('\n') != std::string_view::npos;
    if (token.begin >= word_begin_ || (in_string_ && token.end == before_.size())) break;
    if (token.kind == TokenClass::Comment || (token.kind == TokenClass::Space && !is_newline)) continue;
    tokens_.push_back({token.kind, token.begin, token.end, own});
  }
}

void CursorText::find_word(const std::vector<lang::ClassifiedToken>& tokens) {
  word_begin_ = before_.size();
  if (tokens.empty()) return;
  const lang::ClassifiedToken& last = tokens.back();
  in_comment_ = last.kind == TokenClass::Comment;
  if (last.kind == TokenClass::String) {
    const std::size_t inside = open_string(before_, last);
    in_string_ = inside != std::string_view::npos;
    if (in_string_) word_begin_ = inside;
  }
  if (in_string_) return;
  while (word_begin_ > 0 && is_word_character(before_[word_begin_ - 1])) --word_begin_;
}

std::size_t CursorText::opener_of(std::size_t closer) const {
  std::size_t depth = 0;
  for (std::size_t i = closer + 1; i-- > 0;) {
    if (is_closer(tokens_[i].text)) ++depth;
    if (is_opener(tokens_[i].text) && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// The token that the operand before `end` begins with; `end` when there is none.
std::size_t CursorText::operand_begin(std::size_t end) const {
  std::size_t at = end;
  while (at > 0) {
    const CursorToken& last = tokens_[at - 1];
    const bool is_group = is_closer(last.text);
    if (!is_group && !is_operand(last)) return at == end || tokens_[at].text != "." ? at : end;
    const std::size_t start = is_group ? opener_of(at - 1) : at - 1;
    if (start == std::string_view::npos) return end;
    at = start;
    if (at == 0) return at;
    const CursorToken& previous = tokens_[at - 1];
    const bool touches = previous.end == tokens_[at].begin;
    if (touches && previous.text == ".") {
      --at;
    } else if (!(is_group && touches && (is_closer(previous.text) || is_operand(previous)))) {
      return at;
    }
  }
  return tokens_.empty() || tokens_[at].text == "." ? end : at;
}

std::string_view CursorText::operand_before(std::size_t token) const {
  const std::size_t begin = operand_begin(token);
  if (begin == token) return {};
  return before_.substr(tokens_[begin].begin, tokens_[token - 1].end - tokens_[begin].begin);
}

std::string_view CursorText::operands_before(std::size_t token, int precedence) const {
  std::size_t begin = operand_begin(token);
  if (begin == token) return {};
  while (begin > 1 && precedence_of(tokens_[begin - 1]) >= precedence) {
    const std::size_t left = operand_begin(begin - 1);
    if (left == begin - 1) break;
    begin = left;
  }
  return before_.substr(tokens_[begin].begin, tokens_[token - 1].end - tokens_[begin].begin);
}

std::optional<OpenBracket> CursorText::open_bracket() const {
  std::vector<OpenBracket> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view text = tokens_[i].text;
    if (is_opener(text)) {
      open.push_back({i, {i + 1}});
    } else if (is_closer(text) && !open.empty()) {
      open.pop_back();
    } else if (text == "," && !open.empty()) {
      open.back().items.push_back(i + 1);
    }
  }
  if (open.empty()) return std::nullopt;
  return open.back();
}

}  // namespace kiln::repl
