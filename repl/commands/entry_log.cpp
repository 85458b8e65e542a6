// Commands on what was typed: show.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "repl/command.h"
#include "repl/highlight.h"
#include "repl/lines.h"
#include "repl/prompt_mark.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/units.h"

namespace kiln::repl {
namespace {

constexpr std::size_t kListed = 20;

std::string clock_text(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string first_line(const std::string& text) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return {};
  return std::string(lines.front()) + (lines.size() > 1 ? " …" : "");
}

// The newest entries before this one.
void list_entries(Session& session) {
  const auto& all = session.log().entries();
  const std::size_t end = all.size() - 1;
  if (end == 0) return session.write("no entries yet\n");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = end - std::min(end, kListed); k < end; ++k) {
    rows.push_back({std::to_string(all[k].number), clock_text(all[k].begun), duration_text(all[k].seconds),
                    first_line(all[k].text)});
  }
  session.write(table_text({{"entry", true}, {"at"}, {"took", true}, {"text"}}, rows, session.color()));
}

const LoggedEntry& find_entry(Session& session, std::string_view argument) {
  const Command& command = *find_command("show");
  if (argument.starts_with('_')) argument.remove_prefix(1);
  int number = 0;
  const auto [stop, error] = std::from_chars(argument.data(), argument.data() + argument.size(), number);
  if (error != std::errc{} || stop != argument.data() + argument.size())
    usage_error(command, fmt::format("`{}` is not the number of an entry", argument));
  const int newest = session.log().current_number() - 1;
  if (number < 1 || number > newest) {
    usage_error(command, newest == 0 ? std::string("there is no entry before this one")
                                     : fmt::format("there is no entry {}: they are 1 to {}", number, newest));
  }
  const LoggedEntry* entry = session.log().find(number);
  if (entry == nullptr)
    usage_error(command,
                fmt::format("entry {} is no longer known: the last {} are", number, EntryLog::kTexts));
  return *entry;
}

void show_entry(Session& session, const LoggedEntry& entry) {
  const bool color = session.color();
  session.write(paint(fmt::format("entry {}, at {}, took {}", entry.number, clock_text(entry.begun),
                                  duration_text(entry.seconds)),
                      style::kFaint, color) +
                "\n");
  const bool colored = color && !is_command(entry.text);
  std::string text = paint(prompt_mark(entry.number), style::kPrompt, color);
  for (const char c : colored ? colored_source(entry.text) : entry.text) {
    text += c;
    if (c == '\n') text += continuation_mark(entry.number);
  }
  session.write(text + "\n");
  if (!entry.value.is_unset()) return session.write(shown(session.interpreter(), entry.value));
  if (entry.failed) return session.write("it ended with an error\n");
  session.write(entry.has_value ? "its value is no longer kept\n" : "it has no value\n");
}

void show(Session& session, std::string_view argument) {
  if (argument.empty()) return list_entries(session);
  // The entry may go while its value is printed by code of the program.
  const LoggedEntry entry = find_entry(session, argument);
  show_entry(session, entry);
}

constexpr std::array<Command, 1> kEntryLogCommands{{
    {"show", "[n]", "Session", "entry n again: text, value and time; without n the last entries",
     "The value of entry 18 is `_18`, for as long as `:help values` says.\n\n"
     "kiln> x = 6\nkiln> x * 7\nkiln> :show 2\nkiln> :show\n",
     show, no_function("the value of entry 18 is `_18`; programs have no entries")},
}};

}  // namespace

std::span<const Command> log_commands() { return kEntryLogCommands; }

}  // namespace kiln::repl
