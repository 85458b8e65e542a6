#include "repl/highlight.h"

#include "lang/parse.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

std::string_view style_of(lang::TokenClass kind) {
  using lang::TokenClass;
  switch (kind) {
    case TokenClass::Keyword:
      return "\x1b[35m";
    case TokenClass::Number:
      return "\x1b[36m";
    case TokenClass::String:
      return "\x1b[32m";
    case TokenClass::Comment:
      return "\x1b[90m";
    case TokenClass::Invalid:
      return "\x1b[31m";
    case TokenClass::Name:
    case TokenClass::Operator:
    case TokenClass::Bracket:
    case TokenClass::Space:
      break;
  }
  return {};
}

// Length of the command word of an entry that is for the prompt and not for the language; 0 for the language.
std::size_t command_word(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\n");
  if (start == std::string_view::npos) return 0;
  if (text[start] == '?')
    return text.find_first_not_of('?', start) == std::string_view::npos ? text.size()
                                                                        : text.find_first_not_of('?', start);
  if (text[start] != ':') return 0;
  const std::size_t end = text.find_first_of(" \t\n", start);
  return end == std::string_view::npos ? text.size() : end;
}

char partner_of(char bracket) {
  static constexpr std::string_view kOpen = "([{", kClose = ")]}";
  if (const auto i = kOpen.find(bracket); i != std::string_view::npos) return kClose[i];
  if (const auto i = kClose.find(bracket); i != std::string_view::npos) return kOpen[i];
  return 0;
}

bool opens(char bracket) { return bracket == '(' || bracket == '[' || bracket == '{'; }

// From the bracket at index `i` of `brackets`, walks in its direction to the one that closes it.
std::size_t find_partner(std::string_view text, const std::vector<std::size_t>& brackets, std::size_t i) {
  const char self = text[brackets[i]];
  const int step = opens(self) ? 1 : -1;
  std::vector<char> open;
  for (auto k = static_cast<std::ptrdiff_t>(i); k >= 0 && k < std::ssize(brackets); k += step) {
    const char c = text[brackets[static_cast<std::size_t>(k)]];
    if (opens(c) == opens(self)) {
      open.push_back(c);
      continue;
    }
    if (partner_of(c) != open.back()) return std::string_view::npos;
    open.pop_back();
    if (open.empty()) return brackets[static_cast<std::size_t>(k)];
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<StyledRun> highlight(std::string_view text) {
  std::vector<StyledRun> runs;
  const std::size_t word = command_word(text);
  if (word > 0) runs.push_back({0, word, style::kPrompt});
  for (const lang::ClassifiedToken& token : lang::classify(text.substr(word))) {
    const std::string_view style = style_of(token.kind);
    const std::size_t begin = word + token.begin, end = word + token.end;
    if (!runs.empty() && runs.back().style == style && runs.back().end == begin) {
      runs.back().end = end;
    } else {
      runs.push_back({begin, end, style});
    }
  }
  return runs;
}

BracketPair matching_bracket(std::string_view text, std::size_t cursor) {
  const std::size_t word = command_word(text);
  std::vector<std::size_t> brackets;
  for (const lang::ClassifiedToken& token : lang::classify(text.substr(word))) {
    if (token.kind != lang::TokenClass::Bracket) continue;
    for (std::size_t i = word + token.begin; i < word + token.end; ++i) brackets.push_back(i);
  }
  // A closing bracket just typed matters more than what the cursor stands on.
  for (const std::size_t place : {cursor - 1, cursor}) {
    for (std::size_t i = 0; i < brackets.size(); ++i) {
      if (brackets[i] == place) return {place, find_partner(text, brackets, i)};
    }
  }
  return {};
}

std::string colored_source(std::string_view text) {
  std::string out;
  for (const StyledRun& run : highlight(text)) {
    out += paint(text.substr(run.begin, run.end - run.begin), run.style, !run.style.empty());
  }
  return out;
}

}  // namespace kiln::repl
