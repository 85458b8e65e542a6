// Commands that answer what a name means: help doc source apropos.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interpreter/values/natives.h"
#include "repl/columns.h"
#include "repl/command.h"
#include "repl/documentation.h"
#include "repl/source_page.h"
#include "repl/terminal.h"
#include "repl/topics.h"

namespace kiln::repl {
namespace {

std::string heading(std::string_view text, bool color) { return paint(text, style::kHeading, color) + "\n"; }

// Rows of a name and a line, the lines aligned.
struct Row {
  std::string name;
  std::string line;
};
std::string aligned(const std::vector<Row>& rows, bool color, std::size_t at_most = 28) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, std::min(row.name.size(), at_most));
  std::string text;
  for (const Row& row : rows) {
    const std::size_t gap = row.name.size() < width ? width - row.name.size() : 0;
    const std::size_t indent = width + 4;
    text += "  " + paint(row.name, style::kCode, color) + std::string(gap + 2, ' ') +
            wrapped(row.line, interp::print_options().width, indent, indent + row.name.size() + gap - width) +
            "\n";
  }
  return text;
}

std::string command_overview(bool color) {
  std::string text;
  std::string_view group;
  std::vector<Row> rows;
  const auto flush = [&] {
    if (!rows.empty()) text += heading(group, color) + aligned(rows, color) + "\n";
    rows.clear();
  };
  for (const Command* command : all_commands()) {
    if (command->group != group) flush();
    group = command->group;
    rows.push_back({fmt::format(":{} {}", command->name, command->usage), std::string(command->summary)});
  }
  flush();
  return text;
}

std::string topic_overview(bool color) {
  std::vector<Row> rows;
  for (const Topic& topic : topics()) rows.push_back({std::string(topic.name), std::string(topic.summary)});
  return heading("Topics, by `:help topic`", color) + aligned(rows, color);
}

void help(Session& session, std::string_view argument) {
  const bool color = session.color();
  if (argument.empty()) {
    session.write(
        "An expression's value is printed; `;` at its end suppresses that. `_` is the last value.\n"
        "`?name` is its documentation, `??name` its source. Ctrl-C stops, Ctrl-D leaves.\n\n");
    return session.write(command_overview(color) + topic_overview(color));
  }
  for (const Topic& topic : topics()) {
    if (topic.name == argument) {
      return session.write(
          render(Page{{}, std::string(topic.summary), {}, std::string(topic.page), {}}, color));
    }
  }
  if (argument.starts_with(':')) argument.remove_prefix(1);
  if (find_command(argument) != nullptr) {
    return session.write(render(*find_page(session, ":" + std::string(argument)), color));
  }
  const auto page = find_page(session, argument);
  if (!page) unknown_name(session, argument);
  session.write(render(*page, color));
}

void doc(Session& session, std::string_view argument) {
  if (argument.empty()) return help(session, "doc");
  const auto page = find_page(session, argument);
  if (!page) unknown_name(session, argument);
  session.write(render(*page, session.color()));
}

void source(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("source"), "name what you want to see the source of");
  const auto text = source_page(session, argument, session.color());
  if (!text) unknown_name(session, argument);
  session.write(*text);
}

std::vector<Row> rows_of_entries(const std::vector<Entry>& entries) {
  std::vector<Row> rows;
  for (const Entry& each : entries) rows.push_back({each.name, each.summary});
  return rows;
}

void apropos(Session& session, std::string_view word) {
  if (word.empty()) usage_error(*find_command("apropos"), "give a word to search for");
  const Mentions found = mentions_of(session, word);
  const std::vector<Row> named = rows_of_entries(found.by_name),
                         described = rows_of_entries(found.by_summary);
  if (named.empty() && described.empty()) {
    return session.write(fmt::format("nothing mentions `{}`; `:help` lists commands and topics\n", word));
  }
  if (!named.empty()) session.write(aligned(named, session.color()));
  if (!described.empty()) session.write(aligned(described, session.color()));
}

constexpr std::array<Command, 4> kAskingCommands{{
    {"help", "[topic]", "Asking", "this overview, or the page of a command, a topic or a name",
     "kiln> :help tensors\nkiln> :help time\nkiln> :help relu\n", help,
     no_function("`doc(name)` gives the page of a name or a command")},
    {"doc", "name", "Asking", "signature, documentation and examples; `?name` for short",
     "Knows functions, ops, structs, modules, types, methods (`list.append`), keywords, operators and\n"
     "commands.\n\nkiln> ?relu\nkiln> ?list.append\nkiln> ?for\nkiln> ?@\nkiln> :doc :time\n",
     doc, in_programs("doc(\"relu\")")},
    {"source", "name", "Asking", "the text that defined a function or struct; `??name` for short",
     "Of an op it is the row of the op table: the function of one element, derivative, batching, kernel.\n\n"
     "kiln> fn double(x) = 2 * x\nkiln> ??double\nkiln> ??relu\n",
     source, in_programs("source(f)")},
    {"apropos", "word", "Asking", "every name whose name or first sentence has the word",
     "kiln> :apropos sort\n", apropos, in_programs("apropos(\"sort\")")},
}};

}  // namespace

std::span<const Command> asking_commands() { return kAskingCommands; }

}  // namespace kiln::repl
