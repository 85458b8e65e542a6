#include "lang/complaint.h"

#include <algorithm>

#include "lang/invisible.h"
#include "lang/utf8.h"

namespace kiln::lang {
namespace {

struct Hint {
  std::string_view text;
  std::string_view help;
};

// Words that other languages write where Kiln has something else.
constexpr Hint kForeignWords[] = {
    {"async", "Kiln runs one thing after the other"},
    {"await", "Kiln runs one thing after the other"},
    {"case", "a `case` stands in the braces of `match x { … }`"},
    {"class", "a class is written `struct Name { field; fn method(self) { … } }`"},
    {"const", "a variable needs no keyword: `x = 1`"},
    {"def", "a function is written `fn name(x) { … }`"},
    {"del", "`del` takes names and items: `del x, xs[0]`"},
    {"do", "a loop is written `while condition { … }`"},
    {"elif", "write `else if`"},
    {"elseif", "write `else if`"},
    {"elsif", "write `else if`"},
    {"except", "errors are caught by `try { … } catch err { … }`"},
    {"finally", "`finally` follows the `}` of a `try` or `catch`; at the prompt on the same line"},
    {"foreach", "a loop is written `for x in xs { … }`"},
    {"func", "a function is written `fn name(x) { … }`"},
    {"function", "a function is written `fn name(x) { … }`"},
    {"global", "a function changes variables of the module by writing `nonlocal name`"},
    {"include", "write `import name` or `import \"./file.kiln\" as name`"},
    {"lambda", "an anonymous function is written `x => x + 1`"},
    {"let", "a variable needs no keyword: `x = 1`"},
    {"match", "`match` is a statement: `match x { case 1 { … } case _ { … } }`"},
    {"print", "call it: `print(…)`"},
    {"raise", "write `throw`"},
    {"switch", "write `match x { case 1 { … } case _ { … } }`"},
    {"then", "the body of `if` stands in braces: `if c { … }`"},
    {"unless", "write `if not …`"},
    {"until", "write `while not …`"},
    {"using", "write `import name`"},
    {"var", "a variable needs no keyword: `x = 1`"},
    {"yield", "`yield` is a statement of its own, or in a function what `x = yield e` assigns"},
};

// Characters and operators of other languages.
constexpr Hint kForeignCharacters[] = {
    {"!", "write `not`"},
    {"&&", "write `and`"},
    {"||", "write `or`"},
    {"`", "strings stand in quotes: \"…\" or '…'"},
    {"?", "a condition is written `a if c else b`"},
    {"\\", "a statement goes on over the line's end inside brackets and after an operator"},
    {"“", "strings stand in plain quotes: \"…\""},
    {"”", "strings stand in plain quotes: \"…\""},
    {"„", "strings stand in plain quotes: \"…\""},
    {"‘", "strings stand in plain quotes: '…'"},
    {"’", "strings stand in plain quotes: '…'"},
    {"×", "write `*`"},
    {"÷", "write `/`"},
    {"−", "write a plain `-`"},
    {"–", "write a plain `-`"},
    {"—", "write a plain `-`"},
    {"≤", "write `<=`"},
    {"≥", "write `>=`"},
    {"≠", "write `!=`"},
    {"→", "write `=>` for a function, `->` for the type of a result"},
    {"…", "write three dots: `...`"},
    {"²", "write `** 2`"},
    {"³", "write `** 3`"},
    {"，", "write a plain `,`"},
    {"（", "write a plain `(`"},
    {"）", "write a plain `)`"},
    {"：", "write a plain `:`"},
};

template <std::size_t N>
std::string find_hint(const Hint (&hints)[N], std::string_view text) {
  const Hint* found =
      std::find_if(std::begin(hints), std::end(hints), [&](const Hint& h) { return h.text == text; });
  return found == std::end(hints) ? "" : std::string(found->help);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) return "`" + std::string(text) + "`";
  std::size_t end = kLongest;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "`" + std::string(text.substr(0, end)) + "…`";
}

// Works out one message; every member looks at the failure only.
class Complaint {
 public:
  explicit Complaint(const ParseFailure& failure) : failure_(failure) {}

  [[noreturn]] void raise() const {
    Diagnostic made{"SyntaxError", message(), {{place(), ""}}, help(), {}};
    if (more_could_follow()) throw IncompleteError(std::move(made));
    throw UserError(std::move(made));
  }

 private:
  Token found() const { return failure_.tokens.back(); }
  // The one before what was found, or the one before that.
  Token before(std::size_t steps = 1) const {
    const std::size_t size = failure_.tokens.size();
    return size > steps ? failure_.tokens[size - 1 - steps] : Token{};
  }
  bool has_before() const { return failure_.tokens.size() > 1; }
  Span span(Token token) const { return {&failure_.file, token.begin, token.end}; }
  std::string_view text(Token token) const { return span(token).text(); }
  Rule rule(std::size_t steps = 0) const {
    return failure_.rules.size() > steps ? failure_.rules[failure_.rules.size() - 1 - steps]
                                         : Rule::Statement;
  }
  bool inside(Rule wanted) const {
    return std::find(failure_.rules.begin(), failure_.rules.end(), wanted) != failure_.rules.end();
  }
  bool at_file_end() const { return found().begin >= failure_.file.text().size(); }
  // The end of the file is shown behind the last token, not on an empty line below.
  Span place() const {
    if (found().kind != Tok::End || !at_file_end() || !has_before()) return span(found());
    return {&failure_.file, before().end, before().end};
  }
  bool adjacent() const { return has_before() && before().end == found().begin; }

  std::string describe(Token token) const {
    switch (token.kind) {
      case Tok::End:
        // An expression inside an f-string ends before the file does.
        if (!at_file_end()) return quoted(failure_.file.text().substr(token.begin, 1));
        return std::string(words(token.kind));
      case Tok::Newline:
        return std::string(words(token.kind));
      case Tok::String:
      case Tok::FString:
        return "a string";
      default:
        return quoted(text(token));
    }
  }
  std::string but_found() const { return ", found " + describe(found()); }
  std::string after() const { return has_before() ? " after " + describe(before()) : ""; }

  std::string opener_place() const {
    // What was found may be an opener itself.
    const auto& openers = failure_.openers;
    const bool found_last = openers.back().token.begin == found().begin && openers.size() > 1;
    const Token opener = openers[openers.size() - (found_last ? 2 : 1)].token;
    const LineColumn at = failure_.file.locate(opener.begin);
    return std::string(words(opener.kind)) + " at " + std::to_string(at.line) + ":" +
           std::to_string(at.column);
  }

  // Whether a statement (or a field) was complete before what was found.
  bool statement_ended() const {
    return failure_.expected == Tok::Newline ||
           (failure_.expected == Tok::RightBrace && rule() != Rule::Dict);
  }

  // Whether the innermost opener follows a token of this kind.
  bool opened_after(Tok kind) const {
    if (failure_.openers.empty()) return false;
    const std::uint32_t begin = failure_.openers.back().token.begin;
    const auto at = std::find_if(failure_.tokens.begin(), failure_.tokens.end(),
                                 [&](const Token& token) { return token.begin == begin; });
    return at != failure_.tokens.begin() && at != failure_.tokens.end() && (at - 1)->kind == kind;
  }

  // The first token of the statement that was being read.
  Token statement_start() const {
    std::size_t i = failure_.tokens.size() - 1;
    while (i > 0 && !ends_statement(failure_.tokens[i - 1].kind)) --i;
    return failure_.tokens[i];
  }
  // Whether a statement or a field was about to begin.
  bool nothing_yet() const {
    const Tok kind = before().kind;
    return kind == Tok::LeftBrace || kind == Tok::Newline || kind == Tok::Semicolon;
  }
  static bool ends_statement(Tok kind) {
    return kind == Tok::Newline || kind == Tok::Semicolon || kind == Tok::LeftBrace ||
           kind == Tok::RightBrace;
  }

  std::string message() const {
    switch (failure_.expected) {
      case Tok::End:
        return expected_several();
      case Tok::RightParen:
      case Tok::RightBracket:
        return expected_closer();
      case Tok::RightBrace:
        if (rule() == Rule::Dict) return expected_closer();
        if (rule() == Rule::Match) return "expected `case` and a pattern" + but_found();
        if (nothing_yet()) return "expected " + std::string(words(rule())) + but_found();
        return rule() == Rule::Block ? expected_statement_end()
                                     : "expected a new line or `;`" + after() + but_found();
      case Tok::LeftBrace:
        return "expected `{` to begin the body of `" + owner() + "`" + but_found();
      case Tok::LeftParen:
        return "expected `(` and the parameters of the function" + but_found();
      case Tok::Newline:
        return expected_statement_end();
      case Tok::Name:
        return "expected a name" + after() + but_found();
      case Tok::In:
        return "expected `in` after the names of `for`" + but_found();
      case Tok::Else:
        return "expected `else` and another value after `… if condition`" + but_found();
      default:
        return "expected " + std::string(words(failure_.expected)) + after() + but_found();
    }
  }

  std::string expected_statement_end() const {
    if (found().kind == Tok::Else || found().kind == Tok::Catch) {
      return describe(found()) + (found().kind == Tok::Else ? " without an `if`" : " without a `try`") +
             " before it";
    }
    return "expected the end of the statement" + after() + but_found();
  }

  std::string expected_closer() const {
    const std::string closer(words(failure_.expected));
    const bool item_missing = is_opener(before().kind) || before().kind == Tok::Comma;
    if (item_missing) return "expected " + std::string(words(rule())) + " or " + closer + but_found();
    return "expected `,` or " + closer + " to close the " + opener_place() + but_found();
  }

  std::string expected_several() const {
    if (failure_.rules.empty()) return "expected the end of the expression" + but_found();
    if (rule() == Rule::Statement && found().kind == Tok::Else) return "`else` without an `if` before it";
    if (rule() == Rule::Statement && found().kind == Tok::Catch) return "`catch` without a `try` before it";
    if (rule() == Rule::Try) return "expected `catch` or `finally` after the body of `try`" + but_found();
    if (rule() == Rule::Match) return "expected `case` and a pattern" + but_found();
    return "expected " + std::string(words(rule())) + after() + but_found();
  }

  // The keyword of the statement whose body is missing.
  std::string owner() const {
    switch (rule(rule() == Rule::Block ? 1 : 0)) {
      case Rule::If:
        return has_before() && before().kind == Tok::Else ? "else" : "if";
      case Rule::While:
        return "while";
      case Rule::For:
        return "for";
      case Rule::With:
        return "with";
      case Rule::Try:
        if (!has_before() || before().kind == Tok::Try) return "try";
        return before().kind == Tok::Finally ? "finally" : "catch";
      case Rule::Match:
        return "match";
      case Rule::Case:
        return "case";
      case Rule::Struct:
        return "struct";
      case Rule::Autograd:
        return "autograd";
      default:
        return "fn";
    }
  }

  std::string help() const {
    for (const Token token : {before(), found()}) {
      if (token.kind != Tok::Name) continue;
      if (std::string hint = find_hint(kForeignWords, text(token)); !hint.empty()) return hint;
    }
    std::string hint = assignment_help();
    if (hint.empty()) hint = statement_help();
    return hint.empty() ? operator_help() : hint;
  }

  std::string assignment_help() const {
    if (found().kind != Tok::Assign) return "";
    if (adjacent() && text(before()) == "==") return "write `==`";
    const Tok start = statement_start().kind;
    const bool value_only = start == Tok::Assert || start == Tok::Return || start == Tok::Throw;
    const bool compares = failure_.expected == Tok::LeftBrace || (statement_ended() && value_only);
    return compares ? "`=` assigns; to compare, write `==`" : "";
  }

  std::string statement_help() const {
    const Tok kind = found().kind;
    const Tok start = statement_start().kind;
    if (kind == Tok::Colon && before().kind == Tok::Number && owner() == "for")
      return "the ints from a on below b are `range(a, b)`";
    if (kind == Tok::Assign && failure_.expected == Tok::In)
      return "a loop is written `for i in range(a, b) { … }`";
    if (kind == Tok::Colon && failure_.expected == Tok::LeftBrace) {
      return "the body stands in braces: `" + owner() + " … { … }`";
    }
    const bool in_function = rule() == Rule::Function || rule() == Rule::Definition;
    if (kind == Tok::Colon && in_function) return "the body stands in braces: `fn f(x) { … }`";
    if (failure_.expected == Tok::LeftParen)
      return "parameters stand in parentheses: `fn f(x) = …`, and without a name `x => …`";
    if (kind == Tok::Arrow) return "an anonymous function is written `x => e`";
    if (kind == Tok::If && failure_.expected == Tok::End)
      return "a value that depends is written `a if c else b`";
    if (kind == Tok::Fn && rule() == Rule::Operand) return "put the function in parentheses";
    if (kind == Tok::Comma && start == Tok::Import) return "import one module in a statement";
    if (kind == Tok::Star && rule() == Rule::ImportedName) return "name what to import, or import the module";
    if (kind == Tok::LeftParen && rule() == Rule::ImportedName) return "leave out the parentheses";
    if (kind == Tok::Else) return "`else` follows the `}` of an `if`; at the prompt on the same line";
    if (inside(Rule::Dict) && opened_after(Tok::FatArrow)) {
      return "a function with statements is written `fn(x) { … }`; after `=>` stands one expression";
    }
    if (rule() == Rule::Dict && begins_value(kind)) return "an entry of a dict is written `key: value`";
    if (rule() == Rule::Annotation && inside(Rule::Call)) return "a named argument is written `name=value`";
    return "";
  }

  std::string operator_help() const {
    const std::string_view now = text(found());
    const std::string_view then = has_before() ? text(before()) : "";
    if (doubled("+")) return "write `x += 1`";
    if (doubled("-")) return "write `x -= 1`";
    if (then == "<" && now == ">") return "write `!=`";
    if (before().kind == Tok::Dot && is_binary(found().kind))
      return "operators go through the elements by themselves: write `" + std::string(now) + "`";
    if (now == "%" && rule() == Rule::Statement)
      return "a command of the prompt begins with `:`, as `:timeit e`";
    if (now == "//" || (now == "/" && !has_before())) return "a comment begins with `#`";
    if (before().kind == Tok::FString && adjacent()) return "inside an f-string use the other kind of quotes";
    if (before().kind == Tok::String && adjacent() && found().kind == Tok::Name)
      return "inside a string use the other kind of quotes";
    const bool string = found().kind == Tok::String || found().kind == Tok::FString;
    if (string && before().kind == Tok::String) return "texts are joined by `+`";
    if (string && adjacent() && before().kind == Tok::Name) {
      return "before a string only `f` can stand; a backslash in it is written `\\\\`";
    }
    const Tok start = statement_start().kind;
    const bool names = start == Tok::Import || start == Tok::From || start == Tok::Nonlocal;
    const bool after_name = statement_ended() && !names && before().kind == Tok::Name;
    const bool is_walrus = failure_.file.text().substr(found().begin).starts_with(":=");
    if (after_name && is_walrus) return "write `" + std::string(then) + " = …`";
    if (after_name && found().kind == Tok::Colon) return "a variable has no type";
    if (after_name && begins_value(found().kind) && !adjacent()) {
      return "to call it, write `" + std::string(then) + "(…)`";
    }
    return "";
  }

  // `x++` and `x--`: what was found is not the operand they lack.
  bool doubled(std::string_view sign) const {
    return failure_.tokens.size() > 2 && text(before()) == sign && text(before(2)) == sign &&
           before(2).end == before().begin;
  }

  static bool begins_value(Tok kind) {
    return kind == Tok::Name || kind == Tok::Number || kind == Tok::String || kind == Tok::FString;
  }

  // Whether another line at the prompt may make it right.
  bool more_could_follow() const {
    const Tok kind = found().kind;
    if (kind == Tok::Newline && (rule() == Rule::Try || rule() == Rule::Decorated)) return true;
    if (kind != Tok::End || doubled("+") || doubled("-")) return false;
    return rule() == Rule::Try || rule() == Rule::Decorated ||
           (has_before() && continues_line(before().kind));
  }

  const ParseFailure& failure_;
};

}  // namespace

void syntax_error(Span place, std::string message, std::string help) {
  throw UserError({"SyntaxError", std::move(message), {{place, ""}}, std::move(help), {}});
}

void complain(const ParseFailure& failure) { Complaint(failure).raise(); }

void complain_of_character(const SourceFile& file, Token token) {
  // A name may hold one too: then `token` is only that character.
  const std::string_view text = file.text();
  const CodePoint point = decode_utf8(text, token.begin);
  const std::uint32_t end = std::max(token.end, token.begin + point.length);
  const Span place{&file, token.begin, end};
  const std::string hint = find_hint(kForeignCharacters, place.text());
  if (const std::string invisible = invisible_character(point.value); !invisible.empty()) {
    if (is_foreign_space(point.value)) syntax_error(place, "unexpected " + invisible, "write a plain space");
    syntax_error(place, "unexpected invisible character: " + invisible, "delete it");
  }
  if (display_width(point.value) == 0) {
    syntax_error(place, "unexpected mark without a letter before it: " + code_point_name(point.value));
  }
  const bool backquote = place.text() == "`";
  syntax_error(place, "unexpected " + (backquote ? "backquote" : quoted(place.text())), hint);
}

void complain_of_unclosed(const SourceFile& file, const Opener& opener) {
  const Token token = opener.token;
  throw IncompleteError({"SyntaxError",
                         "this " + std::string(words(token.kind)) + " is never closed",
                         {{{&file, token.begin, token.end}, ""}},
                         "",
                         {}});
}

}  // namespace kiln::lang
