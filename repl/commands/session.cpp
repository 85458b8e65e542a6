// Commands on the session itself: reset set shell quit.
#include <sys/wait.h>

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "repl/command.h"
#include "repl/kept_settings.h"
#include "repl/work_note.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

// ---- :set ----

// "precision 2" or "precision = 2".
struct Assignment {
  std::string_view key, value;
};
Assignment parse_assignment(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" ="), text.size());
  std::string_view value = trim(text.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  return {text.substr(0, end), value};
}

const Setting& setting_of(std::string_view key) {
  const Setting* setting = find_setting(key);
  if (setting == nullptr)
    command_error("NameError", fmt::format("there is no setting `{}`", key), help_for_setting(key));
  return *setting;
}

void list_settings(Session& session) {
  for (const Setting& setting : settings()) {
    session.write(fmt::format("  {:<10} {:<6} {}\n", setting.key, setting.get(session), setting.meaning));
  }
  if (const std::string& path = session.settings().path(); !path.empty())
    session.write(fmt::format("kept in {}; `:set reset` goes back\n", path));
}

// Says at a terminal how long a setting lasts.
void keep_setting(Session& session, const Setting& setting, std::string_view value) {
  if (!session.options().interactive) return;
  const auto passing = [&](std::string_view why) {
    session.write(fmt::format("{} is {} in this session alone: {}\n", setting.key, value, why));
  };
  if (!setting.passing.empty()) return passing(setting.passing);
  if (session.settings().path().empty()) return passing("`--no-init` keeps nothing");
  try {
    session.settings().keep(setting, value);
  } catch (const lang::UserError& error) {
    return passing(error.diagnostic().message);
  }
  session.write(fmt::format("{} is {} here and in later sessions\n", setting.key, value));
}

void reset_settings(Session& session, std::string_view key) {
  if (!key.empty()) return session.settings().reset(session, setting_of(key));
  for (const Setting& setting : settings()) session.settings().reset(session, setting);
}

void set(Session& session, std::string_view argument) {
  if (argument.empty()) return list_settings(session);
  const auto [key, value] = parse_assignment(argument);
  if (key == "reset" || key == "--default") return reset_settings(session, value);
  const Setting& setting = setting_of(key);
  if (value.empty())
    return session.write(fmt::format("{} is {} ({})\n", key, setting.get(session), setting.values));
  session.settings().set(session, setting, value);
  keep_setting(session, setting, value);
}

// ---- the others ----

void reset(Session& session, std::string_view) {
  session.reset();
  session.write("forgot every variable and loaded module\n");
}

// In a shell of its own, with the terminal. What Ctrl-C is for is the command.
void shell(Session& session, std::string_view command) {
  if (command.empty()) usage_error(*find_command("shell"), "give a command of the system");
  session.interpreter().flush();
  hush_work_note();
  const int status = std::system(std::string(command).c_str());
  interrupt_requested.store(false);
  if (status == -1) command_error("IOError", "no process could be started");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code != 0) session.write(fmt::format("exit code {}\n", code));
}

void quit(Session&, std::string_view argument) {
  throw interp::Exit{argument.empty() ? 0 : parse_whole_number("quit", argument, 0, 255)};
}

constexpr std::array<Command, 4> kSessionCommands{{
    {"set", "[key [value]]", "Session", "how values print, colour, threads, the disk cache",
     "What is set at a terminal is kept for later sessions, in ~/.config/kiln/settings; `--no-init` starts "
     "without.\n"
     "`:set reset precision` goes back to what it was, `:set reset` does so for all. `device` is not kept: a "
     "later\n"
     "session may find no such device.\n\n"
     "kiln> :set\nkiln> :set precision 2\nkiln> tensor([1 / 3])\nkiln> :set reset precision\n",
     set, in_programs("print_options(precision=4)")},
    {"reset", "", "Session", "forget every variable and loaded module", "kiln> x = 1\nkiln> :reset\n", reset,
     no_function("`del` forgets a variable")},
    {"shell", "command", "Session", "run a command of the system; `!command` for short", "", shell,
     in_programs("run_process(\"echo kiln\")")},
    {"quit", "[code]", "Session", "leave; so do `exit`, `quit`, `:q` and Ctrl-D", "", quit,
     in_programs("exit(0)")},
}};

}  // namespace

std::span<const Command> session_commands() { return kSessionCommands; }

}  // namespace kiln::repl
