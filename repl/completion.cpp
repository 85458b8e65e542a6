#include "repl/completion.h"

#include <algorithm>

#include "lang/operators.h"
#include "repl/completion/sources.h"

namespace kiln::repl {
namespace {

// What `from nn import ` or a name after a comma behind it is about; "" elsewhere.
std::string_view imported_module(const CursorText& text) {
  const auto& tokens = text.tokens();
  std::size_t at = tokens.size();
  while (at > 0 && tokens[at - 1].text == "," && at > 1) at -= 2;
  const bool is_list = at >= 3 && tokens[at - 1].text == "import" && tokens[at - 3].text == "from";
  return is_list ? tokens[at - 2].text : std::string_view();
}

All at_point(Session& session, const CursorText& text) {
  const std::string_view operand = text.operand_before(text.tokens().size() - 1);
  return members(session, operand.empty() ? std::nullopt : type_at(session, text, operand));
}

// Beside a product only what fits: most tensors of a program do not.
All at_product(Session& session, const CursorText& text) {
  constexpr std::string_view kProduct = "@";
  if (!text.last_is(kProduct)) return {};
  const std::size_t token = text.tokens().size() - 1;
  const std::string_view left = text.operands_before(token, lang::find_operator(kProduct).precedence);
  const auto type = left.empty() ? std::nullopt : type_at(session, text, left);
  return type && type->is_tensor() ? operands(session, *type, kProduct) : All();
}

All at_word(Session& session, const CursorText& text) {
  if (text.in_string()) return texts(session, text);
  if (text.last_is(".")) return at_point(session, text);
  if (const std::string_view module = imported_module(text); !module.empty())
    return names_of_module(session, module);
  if (text.last_is("import") || text.last_is("from")) return modules();
  if (All found = at_product(session, text); !found.empty()) return found;
  All all = values(session, text);
  const bool is_value = std::any_of(
      all.begin(), all.end(), [&](const Candidate& each) { return each.text.starts_with(text.word()); });
  if (is_value) return all;
  all = arguments(session, text);
  All others = names(session, text);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

// What the names mean now. Parts of the library that no name has asked for stay unread.
void tell_names(Session& session, All& all) {
  for (Candidate& each : all) {
    if (each.kind != "name" || !each.detail.empty()) continue;
    const interp::Value* value = session.interpreter().main().find(each.text);
    if (value == nullptr) value = session.interpreter().prelude().find(each.text);
    if (value != nullptr) each = described(std::move(each.text), *value);
  }
}

}  // namespace

Candidates candidates(Session& session, std::string_view text, std::size_t cursor) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start != std::string_view::npos && start < cursor && text[start] == ':')
    return command_candidates(session, text, cursor);
  const CursorText at(text, cursor);
  const bool in_number = !at.word().empty() && at.word().front() >= '0' && at.word().front() <= '9';
  const bool after_number = !at.tokens().empty() && at.tokens().back().kind == lang::TokenClass::Number &&
                            at.tokens().back().end == at.word_begin();
  // In a comment, and in or behind a number, no name begins.
  if (at.in_comment() || (!at.in_string() && (in_number || after_number))) return {cursor, {}};
  All found = chosen(at_word(session, at), at.word());
  tell_names(session, found);
  return {at.word_begin(), std::move(found)};
}

Completion complete(Session& session, std::string_view text, std::size_t cursor) {
  Candidates found = candidates(session, text, cursor);
  Completion completion{found.begin, {}};
  for (Candidate& each : found.all) completion.candidates.push_back(std::move(each.text));
  return completion;
}

}  // namespace kiln::repl
