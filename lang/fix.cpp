#include "lang/fix.h"

#include <algorithm>

#include "lang/parse.h"
#include "lang/syntax.h"

namespace kiln::lang {
namespace {

// What stands between the first pair of backticks from `from` on; nothing when there is none.
std::optional<std::string_view> quoted_text(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find('`', from);
  const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(begin + 1, end - begin - 1);
}

// All texts in backticks, the last one first: a message names what is at fault last.
std::vector<std::string_view> quoted_texts(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; const auto found = quoted_text(text, at);) {
    all.insert(all.begin(), *found);
    at = static_cast<std::size_t>(found->data() - text.data()) + found->size() + 1;
  }
  return all;
}

bool is_layout(const Token& token) { return token.kind == Tok::Space || token.kind == Tok::Comment; }

// May "write `…`" be followed to the letter? Names in longer texts stand for the reader's own.
bool is_literal(std::string_view text) {
  if (text.empty() || text.find("…") != std::string_view::npos) return false;
  const std::vector<Token> tokens = lex(text);
  const auto is_fixed = [](const Token& token) {
    return token.kind != Tok::Name && token.kind != Tok::String;
  };
  return tokens.size() == 1 || std::all_of(tokens.begin(), tokens.end(), is_fixed);
}

// What a help says to write; nothing when it shows a form or explains.
std::optional<std::string> wanted_text(std::string_view help) {
  constexpr std::string_view kDidYouMean = "did you mean `";
  if (const std::size_t at = help.find(kDidYouMean); at != std::string_view::npos) {
    const auto text = quoted_text(help, at);
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  if (help == "delete it") return "";
  if (help == "write a plain space") return " ";
  for (const std::string_view begin : {"write `", "write a plain `"}) {
    if (!help.starts_with(begin)) continue;
    const auto text = quoted_text(help, 0);
    const bool is_all = text && help.size() == begin.size() + text->size() + 1;
    if (is_all && is_literal(*text)) return std::string(*text);
  }
  return std::nullopt;
}

// The last token with this text within the span, or right before it.
std::optional<Span> token_with_text(const Span& span, std::string_view wanted) {
  const std::uint32_t line = span.file->line_start(span.file->locate(span.begin).line);
  std::optional<Span> found;
  for (const Token& token : lex(span.file->text().substr(line, span.end - line))) {
    const Span each{span.file, line + token.begin, line + token.end};
    if (!is_layout(token) && each.text() == wanted) found = each;
  }
  return found;
}

// "x @ w2" of labels under both operands; the operator may have one before them.
std::optional<Span> operands_of(const Diagnostic& diagnostic, std::string_view wanted) {
  for (std::size_t i = 0; i + 1 < diagnostic.labels.size(); ++i) {
    const Span& left = diagnostic.labels[i].span;
    const Span& right = diagnostic.labels[i + 1].span;
    const bool are_apart = left && left.file == right.file && left.end <= right.begin;
    if (are_apart && wanted.starts_with(left.text())) return join(left, right);
  }
  return std::nullopt;
}

// Are there fewer mistakes of syntax with the fix than without?
bool mends_syntax(const Fix& fix) {
  const SourceFile& file = *fix.span.file;
  std::string text(file.text());
  text.replace(fix.span.begin, fix.span.end - fix.span.begin, fix.text);
  return syntax_mistakes(SourceFile(file.name(), text)).size() < syntax_mistakes(file).size();
}

// A message of syntax may name what stands around the word that is meant.
std::optional<Fix> syntax_fix(const Diagnostic& diagnostic, const std::string& text) {
  std::vector<Span> places = {diagnostic.place()};
  for (const std::string_view each : quoted_texts(diagnostic.message)) {
    if (const auto token = token_with_text(diagnostic.place(), each)) places.push_back(*token);
  }
  for (const Span& place : places) {
    if (Fix fix{place, text}; mends_syntax(fix)) return fix;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fix> fix_of(const Diagnostic& diagnostic) {
  const Span place = diagnostic.place();
  if (!place || place.file->is_library()) return std::nullopt;
  const auto text = wanted_text(diagnostic.help);
  if (!text) return std::nullopt;
  if (diagnostic.kind == "SyntaxError") return syntax_fix(diagnostic, *text);
  if (lex(*text).size() > 1) {
    const auto operands = operands_of(diagnostic, *text);
    return operands ? std::optional(Fix{*operands, *text}) : std::nullopt;
  }
  const std::vector<std::string_view> quoted = quoted_texts(diagnostic.message);
  if (quoted.empty()) return std::nullopt;
  const auto token = token_with_text(place, quoted.front());
  return token ? std::optional(Fix{*token, *text}) : std::nullopt;
}

}  // namespace kiln::lang
