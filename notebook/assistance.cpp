// What helps while a cell is written: what may follow, and what a name means.
#include <algorithm>

#include "lang/utf8.h"
#include "notebook/notebook.h"
#include "repl/cell.h"
#include "repl/command.h"
#include "repl/completion/cursor.h"
#include "repl/documentation.h"
#include "repl/source_page.h"

namespace kiln::notebook {
namespace {

std::size_t byte_of(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (; character > 0 && at < text.size(); --character) at += lang::decode_utf8(text, at).length;
  return at;
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += lang::decode_utf8(text, at).length;
  return count;
}

// The command that the place is in, or the whole cell: text of the language sees the statements before it.
std::string_view part_at(std::string_view cell, std::size_t place) {
  for (const std::string_view part : repl::split_cell(cell)) {
    const auto begin = static_cast<std::size_t>(part.data() - cell.data());
    if (place >= begin && place <= begin + part.size() && repl::trim(part).starts_with(':')) return part;
  }
  return cell;
}

bool is_name_character(char c) { return repl::is_word_character(c) || c == '.'; }

// "x.sum" at any place in it; "" where there is no name.
std::string_view name_at(std::string_view text, std::size_t place) {
  std::size_t begin = place, end = place;
  while (end < text.size() && repl::is_word_character(text[end])) ++end;
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// The function whose arguments the place is in.
std::string_view called_at(std::string_view text, std::size_t place) {
  const repl::CursorText before(text, place);
  const auto bracket = before.open_bracket();
  if (!bracket || before.tokens()[bracket->token].text != "(") return {};
  const std::string_view operand = before.operand_before(bracket->token);
  return std::all_of(operand.begin(), operand.end(), is_name_character) ? operand : std::string_view();
}

}  // namespace

CellCandidates Notebook::complete(std::string_view cell, std::size_t cursor) {
  const std::size_t place = byte_of(cell, cursor);
  const std::string_view part = part_at(cell, place);
  const auto begin = static_cast<std::size_t>(part.data() - cell.data());
  repl::Candidates found = repl::candidates(session_, part, place - begin);
  const std::size_t first = characters_in(cell.substr(0, begin + found.begin));
  return {first, std::max(first, cursor), std::move(found.all)};
}

std::optional<std::string> Notebook::inspect(std::string_view cell, std::size_t cursor, bool source) {
  const std::size_t place = byte_of(cell, cursor);
  std::string_view name = name_at(cell, place);
  if (name.empty()) name = called_at(cell, place);
  if (name.empty()) return std::nullopt;
  if (source) return repl::source_page(session_, name, true);
  const auto page = repl::find_page(session_, name);
  return page ? std::optional(repl::render(*page, true)) : std::nullopt;
}

}  // namespace kiln::notebook
