#include "repl/command.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kiln::repl {
namespace {

struct Split {
  std::string_view name;
  std::string_view argument;
};

// "nn.Linear"
bool is_dotted_name(std::string_view text) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), is_part);
}

// Words that leave other prompts.
bool leaves(std::string_view word) { return word == "exit" || word == "quit"; }

// ":time e" → time, e; "?name" and "name?" → doc, name; "??name" and "name??" → source, name; "!ls" → shell,
// ls; "exit" → quit. An empty name: not a command.
Split split(std::string_view entry) {
  entry = trim(entry);
  if (entry.starts_with("??")) return {"source", trim(entry.substr(2))};
  if (entry.starts_with('?')) return {"doc", trim(entry.substr(1))};
  if (entry.starts_with('!') && !entry.starts_with("!=")) return {"shell", trim(entry.substr(1))};
  const std::size_t name = std::min(entry.find('?'), entry.size());
  const std::string_view marks = entry.substr(name);
  if ((marks == "?" || marks == "??") && is_dotted_name(entry.substr(0, name)))
    return {marks == "?" ? "doc" : "source", entry.substr(0, name)};
  if (leaves(entry)) return {"quit", {}};
  if (!entry.starts_with(':')) return {};
  entry.remove_prefix(1);
  const std::size_t end = std::min(entry.find_first_of(" \t\n"), entry.size());
  const std::string_view word = entry.substr(0, end);
  return {leaves(word) || word == "q" ? "quit" : word, trim(entry.substr(end))};
}

[[noreturn]] void unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command* command : all_commands()) names.push_back(command->name);
  const bool is_farewell = name == "bye" || name == "q!" || name == "wq";
  const std::string_view near = is_farewell ? "quit" : lang::nearest(name, names);
  command_error("NameError", "there is no command `:" + std::string(name) + "`",
                near.empty() ? "`:help` lists the commands" : "did you mean `:" + std::string(near) + "`?");
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

void command_error(std::string_view kind, std::string message, std::string help) {
  throw lang::UserError({std::string(kind), std::move(message), {}, std::move(help), {}});
}

void usage_error(const Command& command, std::string message) {
  command_error("ValueError", std::move(message),
                "usage: `:" + std::string(command.name) + " " + std::string(command.usage) + "`");
}

const std::vector<const Command*>& all_commands() {
  static const std::vector<const Command*> commands = [] {
    std::vector<const Command*> all;
    for (const auto part :
         {asking_commands(), explaining_commands(), looking_commands(), device_commands(), rank_commands(),
          overview_commands(), stage_commands(), kernel_commands(), backend_commands(), picture_commands(),
          walking_commands(), debugging_commands(), entry_commands(), timing_commands(), profiling_commands(),
          file_commands(), lesson_commands(), log_commands(), session_commands()}) {
      for (const Command& command : part) all.push_back(&command);
    }
    return all;
  }();
  return commands;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : all_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

bool is_command(std::string_view entry) { return trim(entry).starts_with(':') || !split(entry).name.empty(); }

bool run_command(Session& session, std::string_view entry) {
  if (!is_command(entry)) return false;
  // A variable of that name is what is meant.
  if (leaves(trim(entry)) && session.interpreter().main().find(trim(entry)) != nullptr) return false;
  const Split parts = split(entry);
  const Command* command = find_command(parts.name);
  if (command == nullptr) unknown_command(parts.name);
  command->run(session, parts.argument);
  return true;
}

}  // namespace kiln::repl
