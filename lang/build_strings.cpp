#include <algorithm>
#include <string>

#include "lang/builder.h"
#include "lang/literals.h"

namespace kiln::lang {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Where the escape that begins at `at` ends, so that the brace of \u{…} is not taken for a field.
std::uint32_t skip_escape(std::string_view text, std::uint32_t at, std::uint32_t end) {
  if (at + 2 < end && text[at + 1] == 'u' && text[at + 2] == '{') {
    const std::size_t close = text.find('}', at);
    return close < end ? static_cast<std::uint32_t>(close) + 1 : end;
  }
  return std::min(at + 2, end);
}

// Where the string inside a field that begins at `at` ends.
std::uint32_t skip_string(std::string_view text, std::uint32_t at, std::uint32_t end) {
  const char quote = text[at];
  for (++at; at < end && text[at] != quote; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, end);
}

// Where the expression of a field ends: at `}`, `:`, `!r` or the `=` of `{x=}`. `end` when nothing ends it.
std::uint32_t find_field_end(std::string_view text, std::uint32_t at, std::uint32_t end) {
  int depth = 0;
  while (at < end) {
    const char c = text[at];
    const char next = at + 1 < end ? text[at + 1] : '\0';
    if (c == '"' || c == '\'') {
      at = skip_string(text, at, end);
      continue;
    }
    if (depth == 0 && (c == '}' || c == ':')) return at;
    if (depth == 0 && c == '!' && next != '=') return at;
    if (depth == 0 && c == '=') {
      std::uint32_t after = at + 1;
      while (after < end && is_space(text[after])) ++after;
      if (after < end &&
          (text[after] == '}' || text[after] == ':' || (text[after] == '!' && text[after + 1] != '=')))
        return at;
    }
    // `==`, `<=`, `!=` and their like are read whole.
    const bool pair = next == '=' && (c == '=' || c == '!' || c == '<' || c == '>');
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    at += pair ? 2 : 1;
  }
  return end;
}

}  // namespace

Expr* Builder::string(Token token) {
  const QuotedText quoted = quoted_text(span(token));
  auto* made = ast_.make<StringExpr>(span(token));
  made->value = quoted.inside.text();
  if (needs_unescaping(made->value)) {
    std::string value;
    unescape(quoted.inside, value);
    made->value = ast_.copy(value);
  }
  return made;
}

Expr* Builder::fstring(Token token) {
  const QuotedText quoted = quoted_text(span(token));
  const Level level(*this, 1, span(token));
  auto* made = ast_.make<FStringExpr>(span(token));
  std::uint32_t at = quoted.inside.begin;
  made->parts = fstring_parts(at, quoted.inside.end, false);
  return made;
}

// The text and fields from `at` on: to the end of the string or, in a format spec, to the `}` that ends it.
std::span<FStringPart> Builder::fstring_parts(std::uint32_t& at, std::uint32_t end, bool in_spec) {
  const std::string_view source = file_.text();
  std::vector<FStringPart> parts;
  std::string literal;
  std::uint32_t from = at;
  const auto flush = [&](std::uint32_t to) { unescape({&file_, from, to}, literal); };
  const auto finish_literal = [&] {
    if (literal.empty()) return;
    FStringPart part;
    part.text = ast_.copy(literal);
    parts.push_back(part);
    literal.clear();
  };
  while (at < end) {
    const char c = source[at];
    const bool doubled = !in_spec && at + 1 < end && source[at + 1] == c;
    if (c == '\\') {
      at = skip_escape(source, at, end);
    } else if (c == '}' && in_spec) {
      break;
    } else if ((c == '{' || c == '}') && doubled) {
      flush(at + 1);
      at += 2;
      from = at;
    } else if (c == '}') {
      syntax_error({&file_, at, at + 1}, "a single `}` in an f-string",
                   "write `}}` for the character itself");
    } else if (c == '{') {
      flush(at);
      finish_literal();
      parts.push_back(fstring_field(at, end, in_spec));
      from = at;
    } else {
      ++at;
    }
  }
  flush(at);
  finish_literal();
  return keep(parts);
}

// One field; `at` is its `{` and becomes the place behind its `}`.
FStringPart Builder::fstring_field(std::uint32_t& at, std::uint32_t end, bool in_spec) {
  const std::string_view source = file_.text();
  const Span brace{&file_, at, at + 1};
  const std::uint32_t begin = at + 1;
  const auto unclosed = [&] {
    syntax_error(brace, "this `{` in an f-string is not closed",
                 "write `{{` for the character itself; inside a field use the other kind of quotes");
  };
  std::uint32_t stop = find_field_end(source, begin, end);
  if (stop == end) unclosed();
  FStringPart part;
  if (source.substr(begin, stop - begin).find_first_not_of(" \t\r\n") == std::string_view::npos) {
    syntax_error({&file_, at, stop + 1}, "expected an expression after `{` in an f-string",
                 "write `{{` for the character itself");
  }
  part.expr = embedded_expression(begin, stop);
  if (source[stop] == '=') {
    ++stop;
    while (is_space(source[stop])) ++stop;
    part.debug = source.substr(begin, stop - begin);
  }
  if (source[stop] == '!') {
    const char letter = stop + 1 < end ? source[stop + 1] : '\0';
    if (letter != 'r' && letter != 's') {
      syntax_error({&file_, stop, stop + 1}, "expected `!r` or `!s` in an f-string");
    }
    part.conversion = letter;
    stop += 2;
  }
  if (stop < end && source[stop] == ':') {
    if (in_spec)
      syntax_error({&file_, stop, stop + 1}, "a field inside a format cannot have a format of its own");
    ++stop;
    part.spec = fstring_parts(stop, end, true);
  }
  if (stop >= end) unclosed();
  if (source[stop] != '}')
    syntax_error({&file_, stop, stop + 1}, "expected `}` to close the field of the f-string");
  // As in Python, `{x=}` shows the value as code unless a format says otherwise.
  if (!part.debug.empty() && part.conversion == 0 && part.spec.empty()) part.conversion = 'r';
  at = stop + 1;
  return part;
}

Expr* Builder::embedded_expression(std::uint32_t begin, std::uint32_t end) {
  SyntaxReader reader(file_, begin, end, true, depth_);
  Syntax syntax;
  try {
    reader.whole_expression(syntax);
  } catch (const IncompleteError& error) {
    throw UserError(error.diagnostic());  // the string has ended: another line could not help
  }
  const auto* outer = documentation_;
  documentation_ = &reader.documentation();
  Expr* made = expression(Node(syntax, 0));
  documentation_ = outer;
  return made;
}

}  // namespace kiln::lang
